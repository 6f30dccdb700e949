"""A plotly figure as a page of its own and as data: html and chart.json."""

import json
import math
import os
import re
from urllib.parse import quote

import _sandpit_chart as chart

MIME = "application/vnd.plotly.v1+json"
_DATE = re.compile(r"\d{4}-\d\d(-\d\d([ T]\d\d:\d\d.*)?)?$")
_SCRIPT = re.compile(r"<script[^>]*cdn\.plot\.ly[^>]*></script>")
_SCALES = {"date": "datetime", "category": "categorical", "multicategory": "categorical"}


def _values(data):
    """A trace's array, which newer versions write as bytes."""
    if isinstance(data, dict) and "bdata" in data:
        import base64
        import numpy
        shape = [int(size) for size in str(data.get("shape", "-1")).split(",")]
        return numpy.frombuffer(base64.b64decode(data["bdata"]), data["dtype"]).reshape(
            shape).tolist()
    return list(data) if isinstance(data, (list, tuple)) else []


def _plain(item):
    return None if isinstance(item, float) and not math.isfinite(item) else item


def _text(part):
    text = part.get("text") if isinstance(part, dict) else part
    return text if text else None


def _kind(trace):
    kind = trace.get("type", "scatter")
    if kind in ("scatter", "scattergl"):
        few = max(len(_values(trace.get(name))) for name in "xy") < 20
        mode = trace.get("mode") or ("lines+markers" if few else "lines")
        return "line" if "lines" in mode else "scatter" if "markers" in mode else "unknown"
    return {"bar": "bar", "pie": "pie", "box": "box_and_whisker"}.get(kind, "unknown")


def _scale(axis, values):
    if axis.get("type") not in (None, "-"):
        return _SCALES.get(axis["type"], axis["type"])
    words = [item for item in values if isinstance(item, str)]
    if not words:
        return "linear"
    return "datetime" if all(_DATE.match(word) for word in words) else "categorical"


def _pairs(trace):
    xs, ys = _values(trace.get("x")), _values(trace.get("y"))
    xs = xs or list(range(len(ys)))
    ys = ys or list(range(len(xs)))
    return [[_plain(x), _plain(y)] for x, y in zip(xs, ys)]


def _name(trace, fallback):
    return str(trace["name"]) if trace.get("name") else fallback


def _points(kind, traces, axes):
    fields = {}
    for name in "xy":
        axis = axes[name]
        fields[name + "_ticks"] = [_plain(tick) for tick in _values(axis.get("tickvals"))]
        fields[name + "_tick_labels"] = [str(text) for text in _values(axis.get("ticktext"))]
        fields[name + "_scale"] = _scale(
            axis, [value for trace in traces for value in _values(trace.get(name))])
    word = kind.capitalize()
    return {**fields, "elements": [
        {"label": _name(trace, f"{word} {at}"), "points": _pairs(trace)}
        for at, trace in enumerate(traces)]}


def _bars(traces):
    elements = []
    for at, trace in enumerate(traces):
        for x, y in _pairs(trace):
            label, value = (y, x) if trace.get("orientation") == "h" else (x, y)
            elements.append({"label": str(label), "group": _name(trace, f"Group {at}"),
                             "value": value})
    return {"elements": elements}


def _slices(traces):
    elements = []
    for trace in traces:
        sizes = [size or 0 for size in _values(trace.get("values"))]
        labels = _values(trace.get("labels")) or list(range(len(sizes)))
        if not sizes:  # each label counts once
            counts = {label: labels.count(label) for label in labels}
            labels, sizes = list(counts), list(counts.values())
        whole = sum(sizes) or 1
        elements += [{"label": str(label), "angle": round(360 * size / whole, 4), "radius": 1}
                     for label, size in zip(labels, sizes)]
    return {"elements": elements}


def _quantile(ordered, part):
    at = (len(ordered) - 1) * part
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _box(label, values):
    ordered = sorted(value for value in values if isinstance(value, (int, float))
                     and math.isfinite(value))
    if not ordered:
        return None
    first, third = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    reach = 1.5 * (third - first)
    inside = [value for value in ordered if first - reach <= value <= third + reach]
    return {"label": label, "min": inside[0], "first_quartile": first,
            "median": _quantile(ordered, 0.5), "third_quartile": third, "max": inside[-1],
            "outliers": [value for value in ordered if value not in inside]}


def _boxes(traces):
    elements = []
    for at, trace in enumerate(traces):
        lying = trace.get("orientation") == "h"
        values = _values(trace.get("x" if lying else "y"))
        places = _values(trace.get("y" if lying else "x"))
        groups = {}
        for place, value in zip(places or [_name(trace, f"Box {at}")] * len(values), values):
            groups.setdefault(str(place), []).append(value)
        elements += [_box(label, group) for label, group in groups.items()]
    return {"elements": [box for box in elements if box]}


def _one(traces, layout, title):
    kinds = {_kind(trace) for trace in traces}
    kind = kinds.pop() if len(kinds) == 1 else "unknown"
    if kind == "pie":
        return {"type": kind, "title": title, **_slices(traces)}
    axes = {name: layout.get(name + "axis" + traces[0].get(name + "axis", name)[1:]) or {}
            for name in "xy"}
    found = {"type": kind, "title": title}
    for name in "xy":
        label = _text(axes[name].get("title"))
        found[name + "_label"] = label
        found[name + "_unit"] = chart.unit(label)
    if kind in ("line", "scatter"):
        return {**found, **_points(kind, traces, axes)}
    if kind == "unknown":
        return {**found, "elements": []}
    turned = kind == "bar" and all(trace.get("orientation") == "h" for trace in traces)
    if turned:
        for field in ("label", "unit"):
            found["x_" + field], found["y_" + field] = found["y_" + field], found["x_" + field]
    return {**found, **(_bars if kind == "bar" else _boxes)(traces)}


def _chart(figure):
    layout, places = figure.get("layout") or {}, {}
    for at, trace in enumerate(figure.get("data") or []):
        place = f"pie {at}" if trace.get("type") == "pie" else trace.get("xaxis", "x")
        places.setdefault(place, []).append(trace)
    title = _text(layout.get("title"))
    if not places:
        return None
    charts = [_one(traces, layout, title if len(places) == 1 else None)
              for traces in places.values()]
    return charts[0] if len(charts) == 1 else {
        "type": "superchart", "title": title, "elements": charts}


def _local(page):
    """The page with its script from the sandbox, which needs no network, before plotly's server.

    Inside of it, it would be 5 MB in each result. Seen from results/ it lies in files/; a page that
    the sandbox's own browser shows has it at its path.
    """
    import plotly
    places = (os.path.join(os.path.dirname(plotly.__file__), "package_data", "plotly.min.js"),
              "/usr/share/python3-plotly/plotly.js")  # Debian's
    path = next((place for place in places if os.path.isfile(place)), None)
    tag = _SCRIPT.search(page)
    if not tag or not path:
        return page
    sources = [f'<script charset="utf-8" src="{start}{quote(path)}"></script>'
               for start in ("../../../../../files", "file://")] + [tag[0]]
    later = "".join("<script>window.Plotly || document.write({})</script>".format(
        json.dumps(source).replace("</", "<\\/")) for source in sources[1:])
    return page[:tag.start()] + sources[0] + later + page[tag.end():]


def complete(bundle):
    """Adds to a bundle with a figure's JSON what it lacks."""
    import plotly.io
    figure = bundle[MIME]
    if "text/html" not in bundle:
        bundle["text/html"] = _local(plotly.io.to_html(
            {"data": figure.get("data", []), "layout": figure.get("layout", {})},
            include_plotlyjs="cdn", validate=False))
    found = _chart(figure)
    if found:
        bundle[chart.MIME] = json.dumps(found, allow_nan=False, ensure_ascii=False)


def bundle(figure):
    """What a figure is shown as."""
    data = json.loads(figure.to_json())
    data.setdefault("config", {})
    made = {"text/plain": f"{type(figure).__name__} of {len(data['data'])} traces", MIME: data}
    complete(made)
    return made
