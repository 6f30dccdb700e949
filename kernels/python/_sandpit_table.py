"""A pandas DataFrame as JSON that every parser takes: {column: [values]}."""

import datetime
import decimal
import json
import math

MIME = "application/vnd.sandpit.data+json"
ROWS_MAX = 10000


def value(item):
    """One cell as JSON has it: what is missing or not finite is null."""
    import numpy

    if item is None or isinstance(item, (bool, str)):
        return item
    if isinstance(item, numpy.generic):
        if isinstance(item, (numpy.datetime64, numpy.timedelta64)):
            import pandas
            return value(pandas.Timestamp(item) if isinstance(item, numpy.datetime64)
                         else pandas.Timedelta(item))
        return value(item.item())
    if isinstance(item, int):
        return item if -2 ** 63 <= item < 2 ** 64 else str(item)
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    if isinstance(item, decimal.Decimal):
        return value(float(item))
    if isinstance(item, (datetime.datetime, datetime.date, datetime.time)):
        return item.isoformat() if item == item else None
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    if isinstance(item, (list, tuple, set, frozenset, numpy.ndarray)):
        return [value(one) for one in item]
    if isinstance(item, dict):
        return {str(key): value(one) for key, one in item.items()}
    import pandas
    if item is pandas.NaT or item is pandas.NA:
        return None
    return str(item)


def _name(column):
    return column if isinstance(column, str) else str(column)


def data(frame):
    """The document as text. Columns of one name keep apart: the second is "x.1"."""
    table, seen = {}, {}
    for at, column in enumerate(frame.columns):
        name = _name(column)
        count = seen[name] = seen.get(name, -1) + 1
        if count:
            name = f"{name}.{count}"
        table[name] = [value(item) for item in frame.iloc[:ROWS_MAX, at].tolist()]
    return json.dumps(table, allow_nan=False, ensure_ascii=False)
