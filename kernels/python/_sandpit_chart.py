"""A matplotlib figure as data: chart.json."""

import datetime
import json
import math
import re

MIME = "application/vnd.sandpit.chart+json"
_UNIT = re.compile(r"(?:\((?P<round>[^()]+)\)|\[(?P<square>[^\[\]]+)\])\s*$")


def _text(text):
    return text if text else None


def unit(label):
    """What stands in parentheses at the end of an axis' label."""
    found = _UNIT.search(label or "")
    return (found["round"] or found["square"]).strip() if found else None


def _number(item):
    number = float(item)
    return number if math.isfinite(number) else None


def _frequency(axis):
    """That of a series as pandas draws it: its axis counts periods."""
    axes = axis.axes
    return getattr(axes, "freq", None) if axis is axes.xaxis else None


def _is_date(axis):
    import matplotlib.dates
    if _frequency(axis) is not None:
        return True
    return isinstance(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter,
                      (matplotlib.dates.DateConverter, matplotlib.dates.ConciseDateConverter,
                       matplotlib.dates._SwitchableDateConverter))


def _coordinate(axis, item):
    """A number, or on a date axis its time to the second."""
    import numpy
    if isinstance(item, (datetime.datetime, datetime.date)):
        return item.isoformat()
    if isinstance(item, numpy.datetime64):
        return str(item.astype("datetime64[s]"))
    if isinstance(item, str):
        return item
    frequency = _frequency(axis)
    if frequency is not None:
        import pandas
        if not isinstance(item, pandas.Period):
            item = pandas.Period(ordinal=int(item), freq=frequency)
        return item.start_time.isoformat()
    if _is_date(axis):
        import matplotlib.dates
        moment = matplotlib.dates.num2date(float(item)).replace(tzinfo=None)
        return moment.replace(microsecond=0).isoformat()
    return _number(item)


def _tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def _scale(axis):
    if _is_date(axis):
        return "datetime"
    scale = axis.get_scale()
    if scale == "linear":
        ticks, labels = list(axis.get_ticklocs()), _tick_labels(axis)
        named = [label for at, (tick, label) in enumerate(zip(ticks, labels))
                 if tick == at and label and label != str(at)]
        if ticks and len(named) == len(ticks):
            return "categorical"
    return scale


def _axes(axes):
    x, y = axes.get_xlabel(), axes.get_ylabel()
    return {"title": _text(axes.get_title()), "x_label": _text(x), "y_label": _text(y),
            "x_unit": unit(x), "y_unit": unit(y)}


def _scales(axes):
    fields = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        fields[name + "_ticks"] = [_coordinate(axis, tick) for tick in axis.get_ticklocs()]
        fields[name + "_tick_labels"] = _tick_labels(axis)
        fields[name + "_scale"] = _scale(axis)
    return fields


def _points(axes, xs, ys):
    return [[_coordinate(axes.xaxis, x), _coordinate(axes.yaxis, y)] for x, y in zip(xs, ys)]


def _is_grid(line):
    """A straight horizontal or vertical line of two points: axhline() and its like."""
    xs, ys = list(line.get_xdata()), list(line.get_ydata())
    return len(xs) == 2 and (xs[0] == xs[1] or ys[0] == ys[1])


def _label(artist, fallback):
    label = str(artist.get_label())
    return fallback if label.startswith("_") else label


def _line(axes, lines):
    return {"type": "line", **_axes(axes), **_scales(axes), "elements": [
        {"label": _label(line, f"Line {at}"),
         "points": _points(axes, line.get_xdata(), line.get_ydata())}
        for at, line in enumerate(lines)]}


def _scatter(axes, collections):
    return {"type": "scatter", **_axes(axes), **_scales(axes), "elements": [
        {"label": _label(one, f"Scatter {at}"),
         "points": _points(axes, *one.get_offsets().T)} if len(one.get_offsets()) else
        {"label": _label(one, f"Scatter {at}"), "points": []}
        for at, one in enumerate(collections)]}


def _place_name(axis, *places):
    """What stands at the axis where a bar or box is: a name, where names are given, or the number."""
    import matplotlib.category
    import matplotlib.ticker
    if isinstance(axis.units, matplotlib.category.UnitData):
        names = {float(at): name for name, at in axis.units._mapping.items()}
    elif isinstance(axis.get_major_locator(), matplotlib.ticker.FixedLocator):
        names = {float(tick): text for tick, text in zip(axis.get_ticklocs(), _tick_labels(axis))}
    else:
        names = {}
    for place in places:
        if names.get(round(place, 9)):
            return names[round(place, 9)]
    nearest = min(names, key=lambda tick: abs(tick - places[0]), default=None)
    # Bars that stand side by side share the tick in their middle.
    if nearest is not None and abs(nearest - places[0]) < 0.5:
        return names[nearest]
    return f"{places[0]:g}"


def _bar(axes):
    elements, sideways = [], False
    for at, container in enumerate(axes.containers):
        sideways = getattr(container, "orientation", "vertical") == "horizontal"
        axis = axes.yaxis if sideways else axes.xaxis
        group = str(container.get_label())
        group = f"Group {at}" if group.startswith("_") else group
        for bar in container:
            middle = (bar.get_y() + bar.get_height() / 2 if sideways
                      else bar.get_x() + bar.get_width() / 2)
            start = bar.get_y() if sideways else bar.get_x()
            elements.append({"label": _place_name(axis, middle, start), "group": group,
                             "value": _number(
                                 bar.get_width() if sideways else bar.get_height())})
    chart = {"type": "bar", **_axes(axes), "elements": elements}
    if sideways:
        for field in ("label", "unit"):
            chart["x_" + field], chart["y_" + field] = chart["y_" + field], chart["x_" + field]
    return chart


def _pie(axes, wedges):
    return {"type": "pie", "title": _text(axes.get_title()), "elements": [
        {"label": _label(wedge, ""), "angle": round(_number(wedge.theta2 - wedge.theta1), 4),
         "radius": _number(wedge.r)} for wedge in wedges]}


def _boxes(axes):
    """The boxes of boxplot(), plain or patch_artist, from its lines: box, two whiskers, two caps,
    median and fliers each."""
    from matplotlib.patches import PathPatch
    patches = [one for one in axes.patches if isinstance(one, PathPatch)]
    lines = list(axes.lines)
    each = 6 if patches else 7
    if not lines or len(lines) % each and len(lines) % (each - 1):
        return None
    if len(lines) % each:
        each -= 1
    boxes = []
    for at in range(0, len(lines), each):
        group = lines[at:at + each]
        if not patches:
            box, group = group[0], group[1:]
            if len(box.get_xdata()) not in (5, 11):
                return None
            outline = list(zip(box.get_xdata(), box.get_ydata()))
        elif at // each < len(patches):
            outline = patches[at // each].get_path().vertices
        else:
            return None
        boxes.append((outline, group))
    return boxes


def _box(axes, boxes):
    elements, sideways = [], False
    for outline, (low, high, _, _, median, *fliers) in boxes:
        sideways = low.get_ydata()[0] == low.get_ydata()[1]
        along = (lambda line: line.get_xdata()) if sideways else (lambda line: line.get_ydata())
        across = (lambda line: line.get_ydata()) if sideways else (lambda line: line.get_xdata())
        sides = [point[0 if sideways else 1] for point in outline]
        name = _place_name(axes.yaxis if sideways else axes.xaxis, float(across(low)[0]))
        numbers = {"min": min(along(low)), "first_quartile": min(sides),
                   "median": along(median)[0], "third_quartile": max(sides),
                   "max": max(along(high))}
        elements.append({"label": name,
                         **{name: round(_number(item), 8) for name, item in numbers.items()},
                         "outliers": [round(_number(item), 8) for line in fliers
                                      for item in along(line)]})
    return {"type": "box_and_whisker", **_axes(axes), "elements": elements}


def _looks_like_boxes(axes):
    boxes = _boxes(axes)
    if not boxes:
        return None
    for _, group in boxes:
        if any(len(line.get_xdata()) != 2 for line in group[:5]):
            return None
    return boxes


def _one(axes):
    from matplotlib.collections import PathCollection
    from matplotlib.patches import Rectangle, Wedge
    if axes.name != "rectilinear":  # polar ones and those in space
        return {"type": "unknown", **_axes(axes), "elements": []}
    boxes = _looks_like_boxes(axes)
    if boxes:
        return _box(axes, boxes)
    lines = [line for line in axes.lines if not _is_grid(line)]
    others = [one for one in axes.collections]
    patches = list(axes.patches)
    if lines and not others and not patches:
        return _line(axes, lines)
    if others and not patches and not lines and all(
            isinstance(one, PathCollection) for one in others):
        return _scatter(axes, others)
    if patches and not others and not lines:
        if all(isinstance(one, Wedge) for one in patches):
            return _pie(axes, patches)
        if all(isinstance(one, Rectangle) for one in patches) and axes.containers:
            return _bar(axes)
    return {"type": "unknown", **_axes(axes), "elements": []}


def chart(figure):
    """The document as text; None for a figure that shows nothing."""
    figure.canvas.draw()
    shown = [axes for axes in figure.axes if axes.has_data()]
    if not shown:
        return None
    if len(shown) == 1:
        found = _one(shown[0])
    else:
        title = figure._suptitle.get_text() if figure._suptitle else ""
        found = {"type": "superchart", "title": _text(title),
                 "elements": [_one(axes) for axes in shown]}
    return json.dumps(found, allow_nan=False, ensure_ascii=False)
