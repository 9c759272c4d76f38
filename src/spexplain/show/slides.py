"""The segments as a slide of PowerPoint, with shapes and texts that can be edited (extra ``office``)."""

from io import BytesIO
from typing import Any

from spexplain.facts.schema import Summary
from spexplain.facts.text import percent
from spexplain.show.cards import PAGE, SlideCard, slide_page

_LEVELS = {"good": "2A8A55", "usable": "0B5AA8", "weak": "B97F00", "none": "C02626"}


def segments_slide(summary: Summary, *, title: str | None = None) -> bytes:
    """Return a presentation of one slide: a card for every segment, drawn with shapes.

    Parameters
    ----------
    summary : dict
        From `summary`, or from `outline` where rows are not known.
    title : str, optional
        Heading of the slide.

    Returns
    -------
    content : bytes
        Of a .pptx file.

    Examples
    --------
    >>> from spexplain import CART
    >>> from spexplain.show.slides import segments_slide
    >>> explainer = CART(feature_names=["age"]).fit([[20.0], [25.0], [52.0], [60.0]], ["new", "new", "VIP", "VIP"])
    >>> segments_slide(explainer.summary())[:2]
    b'PK'
    """
    try:
        from pptx import Presentation
        from pptx.util import Inches
    except ImportError:
        raise ImportError(
            'Slides need python-pptx; install it with pip install "spexplain[office]".'
        ) from None
    page = slide_page(summary, title)
    presentation = Presentation()
    presentation.slide_width, presentation.slide_height = Inches(PAGE[0]), Inches(PAGE[1])
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])  # a title and nothing else
    heading = slide.shapes.title
    heading.left, heading.top = Inches(0.4), Inches(0.15)
    heading.width, heading.height = Inches(PAGE[0] - 0.8), Inches(0.55)
    _fill(heading.text_frame, [(page.title, 22, True, "1C2127")])
    if page.verdict:
        verdict = slide.shapes.add_textbox(
            Inches(0.4), Inches(0.68), Inches(PAGE[0] - 0.8), Inches(0.5)
        )
        _fill(verdict.text_frame, [(page.verdict, 12, False, _LEVELS[page.level])])
    for card in page.cards:
        _add(slide, card)
    if page.note:
        note = slide.shapes.add_textbox(
            Inches(PAGE[0] - 4), Inches(PAGE[1] - 0.38), Inches(3.6), Inches(0.3)
        )
        _fill(note.text_frame, [(page.note, 10, False, "56606B")])
    file = BytesIO()
    presentation.save(file)
    return file.getvalue()


def _rgb(color: str) -> Any:
    """Return a colour as slides take it, from six hexadecimal digits."""
    from pptx.dml import color as colors

    made: Any = colors.RGBColor
    return made(*(int(color[at : at + 2], 16) for at in (0, 2, 4)))


def _fill(frame: Any, lines: list[tuple[str, float, bool, str]]) -> None:
    """Put lines of (text, size, bold, colour) into a frame; characters that XML does not know are left out."""
    from pptx.util import Pt

    frame.word_wrap = True
    for number, (text, size, bold, color) in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        run = paragraph.add_run()
        run.text = "".join(c for c in text if c.isprintable())
        run.font.size, run.font.bold = Pt(size), bold
        run.font.color.rgb = _rgb(color)


def _add(slide: Any, card: SlideCard) -> None:
    from pptx.enum.shapes import MSO_SHAPE
    from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
    from pptx.util import Inches

    def shape(
        x: float, y: float, width: float, height: float, color: str, line: str | None = None
    ) -> Any:
        made = slide.shapes.add_shape(
            MSO_SHAPE.RECTANGLE, Inches(x), Inches(y), Inches(width), Inches(height)
        )
        made.fill.solid()
        made.fill.fore_color.rgb = _rgb(color.lstrip("#").upper())
        made.shadow.inherit = False
        if line is None:
            made.line.fill.background()
        else:
            made.line.color.rgb = _rgb(line)
        return made

    body = shape(card.x, card.y, card.width, card.height, "FFFFFF", "D9DEE4")
    body.name = f"Segment {card.name}"[:60]
    shape(card.x, card.y, card.width, 0.09, card.color)
    is_low, scale = card.height < 2.2, card.scale
    lines = [
        (card.name, 14.0 * scale, True, "1C2127"),
        (card.size, 10.0 * scale, False, "56606B"),
        (card.rule, 11.0 * scale, False, "1C2127"),
    ]
    told = card.telling[:1] if is_low else card.telling
    lines += [(f"· {text}", 9.5 * scale, False, "3A434D") for text in told]
    frame = body.text_frame
    frame.vertical_anchor = MSO_ANCHOR.TOP
    frame.margin_top = Inches(0.16)
    _fill(frame, [line for line in lines if line[0]])
    for paragraph in frame.paragraphs:
        paragraph.alignment = PP_ALIGN.LEFT
    half, at = (card.width - 0.52) / 2, card.y + card.height - 0.2
    for number, (name, share) in enumerate(
        (("precision", card.precision), ("recall", card.recall))
    ):
        if share is None:
            continue
        left = card.x + 0.16 + number * (half + 0.2)
        label = slide.shapes.add_textbox(
            Inches(left - 0.1),
            Inches(at - 0.02 - 0.28 * scale),
            Inches(half + 0.2),
            Inches(0.28 * scale),
        )
        _fill(label.text_frame, [(f"{name} {percent(share)}", 9.0 * scale, False, "56606B")])
        shape(left, at, half, 0.09, "EEF1F4")
        if share > 0:
            shape(left, at, half * share, 0.09, card.color)
