(() => {
"use strict";
{% include "js/data.js" %}
{% include "js/highlight.js" %}
{% include "js/tree.js" %}
{% include "js/leaves.js" %}
{% include "js/row.js" %}
{% include "js/names.js" %}
{% include "js/page.js" %}
})();
