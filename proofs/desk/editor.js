// The editor, by CodeMirror: one file at a time, with the lines marked that differ from the original.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { python } from "@codemirror/lang-python";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword], color: "var(--word)" },
  { tag: [tags.string, tags.number, tags.bool], color: "var(--text)" },
  { tag: tags.comment, color: "var(--note)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.className, tags.function(tags.variableName), tags.meta], color: "var(--name)" },
]);
const marked = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(value, change) {
    for (const effect of change.effects) if (effect.is(marked)) return effect.value;
    return value.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

// `marks` are classes by line number, from 1.
export function editor(parent, changed, proved) {
  const one = new EditorView({ parent });
  const extensions = [
    lineNumbers(), history(), drawSelection(), bracketMatching(), indentUnit.of("    "), python(),
    syntaxHighlighting(colours), marks, EditorView.contentAttributes.of({ "aria-label": "The text of the rules" }),
    keymap.of([{ key: "Ctrl-Enter", mac: "Cmd-Enter", run: () => (proved(), true) }, ...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
  ];
  return {
    open: (text) => one.setState(EditorState.create({ doc: text, extensions })),
    text: () => one.state.doc.toString(),
    replace(text) {
      const old = one.state.doc.toString();
      const [from, to, insert] = differing(old, text);
      one.dispatch({ changes: { from, to, insert } });
    },
    mark(lines) {
      const all = Object.entries(lines).map(([line, name]) => [Number(line), name]).sort((a, b) => a[0] - b[0]);
      const there = all.filter(([line]) => line >= 1 && line <= one.state.doc.lines);
      const set = Decoration.set(there.map(([line, name]) => Decoration.line({ class: name }).range(one.state.doc.line(line).from)));
      one.dispatch({ effects: marked.of(set) });
    },
    go(line) {
      const at = one.state.doc.line(Math.max(1, Math.min(line, one.state.doc.lines))).from;
      one.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    },
  };
}

// The part in which two texts, or lists of lines, differ: from and to in the old one, and what is new.
export function differing(old, now) {
  let from = 0, end = 0;
  const least = Math.min(old.length, now.length);
  while (from < least && old[from] === now[from]) from++;
  while (end < least - from && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  return [from, old.length - end, now.slice(from, now.length - end)];
}
