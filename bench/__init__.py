"""Speed of the kit, as ratios of things measured side by side: ``make bench``.

Absolute seconds say as much about the machine as about the kit, so each figure is a ratio of two sides that run in
turn, and the median of several such pairs is what is judged.
"""
