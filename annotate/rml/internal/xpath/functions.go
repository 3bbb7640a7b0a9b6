package xpath

import "maps"

// library is the functions by name; those of the namespace of math have its prefix.
var library = func() map[string]function {
	all := map[string]function{}
	for _, part := range []map[string]function{stringFunctions(), sequenceFunctions(), numberFunctions(), nodeFunctions(), dateFunctions(),
		patternFunctions()} {
		maps.Copy(all, part)
	}
	return all
}()

// text returns the only string of an argument, or an empty one.
func text(arg sequence) string {
	if len(arg) == 0 {
		return ""
	}
	return arg[0].s
}

// contextOr returns the argument at an index, or the context item if it was left out.
func (e *evaluation) contextOr(f focus, args []sequence, at int) sequence {
	if len(args) > at {
		return args[at]
	}
	return e.unit(f.at)
}

// toText returns the string value of an item.
func (e *evaluation) toText(s sequence) string {
	switch {
	case len(s) == 0:
		return ""
	case s[0].typ == nodeItem:
		return e.nodeText(s[0].n)
	}
	return e.text(s[0])
}

// countedText returns a string as a value and counts it.
func (e *evaluation) countedText(s string) sequence {
	if !e.holdText(len(s)) {
		return nil
	}
	return e.oneText(s)
}

// codepointCollation is the only collation.
const codepointCollation = "http://www.w3.org/2005/xpath-functions/collation/codepoint"

// collation checks the argument at an index, if it is there.
func (e *evaluation) collation(args []sequence, at int) bool {
	if len(args) > at && len(args[at]) > 0 && args[at][0].s != codepointCollation {
		e.fail("FOCH0002", "the collation %q is not supported, only that of code points", args[at][0].s)
	}
	return e.err == nil
}
