"""How the pages are built: no network, no warning left unseen."""

from importlib.metadata import version as version_of

project = "Beamkeep"
copyright = "Beamkeep contributors"
release = version = version_of("beamkeep")

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "Beamkeep"
html_show_sourcelink = False
html_extra_path = ["reference/openapi.json"]
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
