// What the page takes from other packages, and nothing else: vendor.js holds these names.
export { hierarchy, tree } from "d3-hierarchy";
export { scaleLinear, scaleLog, scaleSymlog } from "d3-scale";
export { select } from "d3-selection";
export { zoom, zoomIdentity } from "d3-zoom";
