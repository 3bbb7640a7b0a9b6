// The editor of the pages: CodeMirror with the languages of messages and mappings. It is
// bundled into ../editor.js; ../editor.go has the command.

import { EditorState, Compartment, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, highlightSpecialChars, Decoration, placeholder } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
import { turtle } from "@codemirror/legacy-modes/mode/turtle";
import { ntriples } from "@codemirror/legacy-modes/mode/ntriples";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import { json } from "@codemirror/legacy-modes/mode/javascript";
import { xml } from "@codemirror/legacy-modes/mode/xml";
import { tags } from "@lezer/highlight";

const languages = { turtle, ntriples, yaml, json, xml };

// The colours are those of the page's style sheet, so that they change with light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: "var(--quiet)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--series-1)" },
  { tag: [tags.keyword, tags.tagName, tags.typeName, tags.atom, tags.bool], color: "var(--series-2)" },
  { tag: [tags.number, tags.literal], color: "var(--series-4)" },
  { tag: [tags.variableName, tags.propertyName, tags.attributeName, tags.name], color: "var(--series-0)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--ground)", border: "1px solid var(--edge)", borderRadius: "8px", fontSize: ".875rem" },
  "&.cm-focused, &:focus-within": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", overflow: "auto", minHeight: "8rem", maxHeight: "32rem" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--quiet)", borderRight: "1px solid var(--line)", borderRadius: "8px 0 0 8px" },
  // Lines let the selection through, which is behind them, and keep the contrast of the colours.
  ".cm-activeLine": { backgroundColor: "transparent", boxShadow: "inset 0 0 0 1px var(--line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  ".cm-marked": { backgroundColor: "color-mix(in srgb, var(--card) 60%, transparent)", boxShadow: "inset 4px 0 var(--accent)" },
  // The marks of findings come as images in data URLs otherwise, which the policy forbids.
  ".cm-lint-marker": { content: "normal", width: ".6em", height: ".6em", borderRadius: "50%", marginTop: ".35em", backgroundColor: "var(--warn)" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--bad)" },
  ".cm-lint-marker-warning, .cm-lint-marker-info, .cm-lint-marker-hint": { content: "normal" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecorationColor: "var(--bad)" },
  ".cm-lintRange-warning, .cm-lintRange-info, .cm-lintRange-hint, .cm-lintRange-active": { backgroundImage: "none" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--edge)" },
});

const mark = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(mark)) {
        shown = Decoration.set(effect.value.map((at) => Decoration.line({ class: "cm-marked" }).range(at)), true);
      }
    }
    return shown.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

// The modes name the members of objects by a word that the highlighter does not know.
const tokenTable = { property: tags.propertyName };

// createEditor makes an editor in place of a textarea, which stays the field of its form.
// The Tab key leaves the editor, as it leaves a textarea. onChange gets the text, onLine the
// line to which a person has moved the cursor.
export function createEditor(area, { language = "", onChange = () => {}, onLine = () => {} } = {}) {
  const spoken = new Compartment();
  const speak = (name) => (languages[name] ? StreamLanguage.define({ ...languages[name], tokenTable }) : []);
  // Below a shadow root CodeMirror adopts its styles, which a strict policy for content lets it.
  const host = document.createElement("div");
  host.className = "editor";
  const root = host.attachShadow({ mode: "open", delegatesFocus: true });
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(), EditorView.lineWrapping, highlightSpecialChars(), history(), drawSelection(), bracketMatching(), indentOnInput(),
        highlightActiveLine(), highlightSelectionMatches(), lintGutter(), marked, theme, syntaxHighlighting(colours),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
        spoken.of(speak(language)),
        EditorState.readOnly.of(area.readOnly),
        area.placeholder ? placeholder(area.placeholder) : [],
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": area.labels?.[0]?.textContent ?? area.getAttribute("aria-label") ?? "", ...(area.getAttribute("aria-describedby") ? { "aria-describedby": area.getAttribute("aria-describedby") } : {}) }),
        EditorView.updateListener.of((update) => {
          if (update.transactions.some((transaction) => transaction.isUserEvent("select"))) onLine(lineOf(update.state.selection.main.head));
          if (!update.docChanged) return;
          area.value = view.state.doc.toString();
          onChange(area.value);
        }),
      ],
    }),
  });
  area.hidden = true;
  area.after(host);
  area.labels?.[0]?.addEventListener("click", () => view.focus());
  const lineOf = (at) => view.state.doc.lineAt(at).number;
  const place = (line, column) => {
    const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    return Math.min(at.from + Math.max((column || 1) - 1, 0), at.to);
  };
  return {
    focus: () => view.focus(),
    get text() { return view.state.doc.toString(); },
    set text(text) {
      if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    speak: (name) => view.dispatch({ effects: spoken.reconfigure(speak(name)) }),
    // show shows findings: {line, column, severity, message}; lines and columns count from 1.
    // A finding may have {from, to} instead, offsets in the text.
    show(findings) {
      const end = view.state.doc.length;
      view.dispatch(setDiagnostics(view.state, findings.map(({ line, column, from, to, severity, message }) => {
        if (line === undefined) return { from: Math.min(from, end), to: Math.min(to, end), severity, message };
        const start = place(line, column);
        return { from: start, to: Math.max(start, view.state.doc.lineAt(start).to), severity, message };
      })));
    },
    // mark marks ranges of lines: {from, to}; an empty list removes the marks.
    mark(ranges) {
      const starts = ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => place(from + i, 1)));
      view.dispatch({ effects: mark.of([...new Set(starts)]) });
    },
    // reveal scrolls to a line. The cursor and the focus stay where they are.
    reveal(line) {
      view.dispatch({ effects: EditorView.scrollIntoView(place(line, 1), { y: "center" }) });
    },
    // go puts the cursor at a place.
    go(line, column) {
      view.dispatch({ selection: { anchor: place(line, column) }, scrollIntoView: true });
      view.focus();
    },
  };
}
