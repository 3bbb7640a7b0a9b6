package xpath

import (
	"fmt"
	"slices"
)

// sequenceFunctions are the functions on sequences and booleans (sections 7 and 14 of Functions and
// Operators).
func sequenceFunctions() map[string]function {
	empty := func(want bool) func(*evaluation, focus, []sequence) sequence {
		return func(_ *evaluation, _ focus, a []sequence) sequence { return aTruth((len(a[0]) == 0) == want) }
	}
	always := func(b bool) func(*evaluation, focus, []sequence) sequence {
		return func(*evaluation, focus, []sequence) sequence { return aTruth(b) }
	}
	effective := func(want bool) func(*evaluation, focus, []sequence) sequence {
		return func(e *evaluation, _ focus, a []sequence) sequence { return aTruth(e.truth(a[0]) == want) }
	}
	return map[string]function{
		"true":    def("", always(true)),
		"false":   def("", always(false)),
		"boolean": def("I*", effective(true)),
		"not":     def("I*", effective(false)),
		"empty":   def("I*", empty(true)),
		"exists":  def("I*", empty(false)),
		"count":   def("I*", func(e *evaluation, _ focus, a []sequence) sequence { return e.unit(integral(int64(len(a[0])))) }),
		"data":    def("| I*", func(e *evaluation, f focus, a []sequence) sequence { return e.atomize(e.contextOr(f, a, 0)) }).reaching(inFocus),
		"last":    def("", func(e *evaluation, f focus, _ []sequence) sequence { return e.unit(integral(f.size)) }).reaching(inFocus),
		"position": def("", func(e *evaluation, f focus, _ []sequence) sequence {
			return e.unit(integral(f.position))
		}).reaching(inFocus),
		"head": nodeFunction("I*", func(_ *evaluation, _ focus, a []sequence) sequence { return a[0][:min(1, len(a[0]))] }),
		"tail": nodeFunction("I*", func(_ *evaluation, _ focus, a []sequence) sequence { return a[0][min(1, len(a[0])):] }),
		"reverse": nodeFunction("I*", func(e *evaluation, _ focus, a []sequence) sequence {
			if !e.holdItems(len(a[0])) {
				return nil
			}
			out := slices.Clone(a[0])
			slices.Reverse(out)
			return out
		}),
		"insert-before": nodeFunction("I* i I*", func(e *evaluation, _ focus, a []sequence) sequence {
			if !e.holdItems(len(a[0]) + len(a[2])) {
				return nil
			}
			at := int(min(max(a[1][0].n-1, 0), int64(len(a[0]))))
			return slices.Concat(a[0][:at], a[2], a[0][at:])
		}),
		"remove": nodeFunction("I* i", func(e *evaluation, _ focus, a []sequence) sequence {
			at := a[1][0].n
			if at < 1 || at > int64(len(a[0])) || !e.holdItems(len(a[0])) {
				return a[0]
			}
			return slices.Concat(a[0][:at-1], a[0][at:])
		}),
		"subsequence": nodeFunction("I* d | d", subsequence),
		"index-of": def("a* a | s", func(e *evaluation, _ focus, a []sequence) sequence {
			var out sequence
			for i, v := range a[0] {
				if !e.spend(1 + min(len(v.s), len(a[1][0].s))/bytesPerStep) {
					return nil
				}
				if same(v, a[1][0]) && e.hold(itemBytes) {
					out = append(out, integral(int64(i+1)))
				}
			}
			e.collation(a, 2)
			return out
		}),
		"distinct-values": def("a* | s", distinct),
		"deep-equal":      def("I* I* | s", deepEqual),
	}
}

// same reports whether two atomic values are equal, untyped ones as strings. NaN is not equal to NaN.
func same(x, y item) bool {
	result, nan, ok := order(asString(x), asString(y), false)
	return ok && !nan && result == 0
}

func subsequence(e *evaluation, _ focus, a []sequence) sequence {
	from := roundHalfUp(a[1][0].f)
	if !e.holdItems(len(a[0])) {
		return nil
	}
	var out sequence
	for i, v := range a[0] {
		position := float64(i + 1)
		if position >= from && (len(a) < 3 || position < from+roundHalfUp(a[2][0].f)) {
			out = append(out, v)
		}
	}
	return out
}

// distinctKey is equal for values that are equal.
func distinctKey(v item) string {
	switch {
	case v.typ.textual():
		return "s" + v.s
	case v.typ == integer || v.typ == decimal:
		if f := v.float(); v.typ == integer && f < 1<<53 && f > -1<<53 {
			return "n" + formatDouble(f+0, 64)
		}
		return "n" + formatDouble(v.float(), 64)
	case v.typ.numeric():
		return "n" + formatDouble(v.f+0, 64)
	case v.typ >= dateAtom && v.typ <= dateTime:
		return fmt.Sprint(v.typ, v.t.UTC())
	case v.typ >= duration && v.typ <= dayTime:
		return fmt.Sprint("d", v.n, " ", int64(v.span))
	}
	return fmt.Sprint(v.typ, v.n, v.s)
}

func distinct(e *evaluation, _ focus, a []sequence) sequence {
	seen := map[string]struct{}{}
	var out sequence
	for _, v := range a[0] {
		if !e.spendText(2*len(v.s)) || !e.hold(len(v.s)+entryBytes+itemBytes) {
			return nil
		}
		key := distinctKey(v)
		if _, twice := seen[key]; twice {
			continue
		}
		seen[key] = struct{}{}
		out = append(out, v)
	}
	e.collation(a, 1)
	return out
}

func deepEqual(e *evaluation, _ focus, a []sequence) sequence {
	if len(a[0]) != len(a[1]) {
		return aTruth(false)
	}
	for i, x := range a[0] {
		y := a[1][i]
		if !e.spend(1) {
			return nil
		}
		equal := false
		switch {
		case x.typ == nodeItem && y.typ == nodeItem:
			equal = e.equalNodes(int32(x.n), int32(y.n))
		case x.typ != nodeItem && y.typ != nodeItem && e.spend(min(len(x.s), len(y.s))/bytesPerStep):
			_, nan, _ := order(x, y, false)
			equal = same(x, y) || (nan && x.typ.numeric() && x.float() != x.float() && y.float() != y.float())
		}
		if !equal {
			return aTruth(false)
		}
	}
	return aTruth(true)
}

// equalNodes reports whether two nodes have the same names, attributes and content, comments aside.
func (e *evaluation) equalNodes(x, y int32) bool {
	if !e.spend(2) {
		return false
	}
	a, b := e.tree.Node(x), e.tree.Node(y)
	na, nb := e.tree.Name(x), e.tree.Name(y)
	if a.Kind != b.Kind || string(na.Local) != string(nb.Local) || na.Space != nb.Space || a.Attributes != b.Attributes {
		return false
	}
	if a.Kind > Element {
		return e.nodeText(int64(x)) == e.nodeText(int64(y))
	}
	for i := x + 1; i <= x+a.Attributes; i++ {
		found := false
		for j := y + 1; j <= y+b.Attributes && !found && e.err == nil; j++ {
			found = e.equalNodes(i, j)
		}
		if !found {
			return false
		}
	}
	i, j := e.uncommented(x+1+a.Attributes, a.End), e.uncommented(y+1+b.Attributes, b.End)
	for i < a.End && j < b.End {
		if !e.equalNodes(i, j) {
			return false
		}
		i, j = e.uncommented(e.tree.Node(i).End, a.End), e.uncommented(e.tree.Node(j).End, b.End)
	}
	return i >= a.End && j >= b.End
}

// uncommented returns the first sibling from a node on that is not a comment.
func (e *evaluation) uncommented(at, end int32) int32 {
	for at < end && e.tree.Node(at).Kind == Comment && e.spend(1) {
		at++
	}
	return at
}
