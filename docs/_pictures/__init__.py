"""The pictures of the site: functions that return SVG, drawn from the library when the site is built."""
