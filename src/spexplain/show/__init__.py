"""Facts made visible: the notebook view (`html`), matplotlib pictures (`plots`) and the report (`report`).

Everything here is drawn from a summary of `spexplain.facts`, which is the same for all of them.
"""
