"""The pictures of the site: functions that return SVG, drawn when the site is built."""
