package router

import (
	"math"
	"strings"
)

// paths is the index of the rules of one host by path.
type paths struct {
	best     int // the first rank in it
	exact    map[string]*bucket
	prefixes radix
	segments segment
}

func newPaths() *paths {
	return &paths{best: math.MaxInt, exact: map[string]*bucket{}, prefixes: radix{best: math.MaxInt}, segments: segment{best: math.MaxInt}}
}

func (p *paths) add(r *rule, port int) {
	e := entry{r, port}
	p.best = min(p.best, r.rank)
	switch {
	case r.pattern == nil:
		p.prefixes.add("", e)
	case r.pattern.kind == kindExact:
		if p.exact[r.pattern.literal] == nil {
			p.exact[r.pattern.literal] = &bucket{}
		}
		p.exact[r.pattern.literal].add(e)
	case r.pattern.kind == kindSegments:
		p.segments.add(r.pattern.segments, r.pattern.anchored, e)
	default:
		p.prefixes.add(r.pattern.literal, e)
	}
}

func (p *paths) find(s *search) {
	if p.best >= s.best {
		return
	}
	path := s.request.Path
	if len(p.exact) > 0 {
		if b := p.exact[path]; b != nil {
			b.find(s, path)
		}
	}
	if p.segments.best < s.best {
		p.segments.find(s, 0)
	}
	p.prefixes.find(s)
}

// radix is a node of a tree of prefixes.
type radix struct {
	text     string // from the parent to here
	best     int    // the first rank here and below
	rules    bucket
	children map[byte]*radix // by the first byte of their text
}

func (n *radix) add(text string, e entry) {
	for {
		n.best = min(n.best, e.rule.rank)
		if text == "" {
			n.rules.add(e)
			return
		}
		child := n.children[text[0]]
		if child == nil {
			child = &radix{text: text, best: math.MaxInt}
			if n.children == nil {
				n.children = map[byte]*radix{}
			}
			n.children[text[0]] = child
		}
		same := 0
		for same < len(text) && same < len(child.text) && text[same] == child.text[same] {
			same++
		}
		if same < len(child.text) {
			lower := *child
			lower.text = child.text[same:]
			*child = radix{text: child.text[:same], best: lower.best, children: map[byte]*radix{lower.text[0]: &lower}}
		}
		n, text = child, text[same:]
	}
}

func (n *radix) find(s *search) {
	path, depth := s.request.Path, 0
	for n.best < s.best {
		n.rules.find(s, path[:depth])
		if depth == len(path) {
			return
		}
		child := n.children[path[depth]]
		if child == nil || !strings.HasPrefix(path[depth:], child.text) {
			return
		}
		depth += len(child.text)
		n = child
	}
}

// segment is a node of a tree of the segments of paths.
type segment struct {
	best      int    // the first rank here and below
	whole     bucket // of paths that end here
	open      bucket // of paths that may go on
	literals  map[string]*segment
	parameter *segment
}

func (n *segment) add(segments []string, anchored bool, e entry) {
	for _, text := range segments {
		n.best = min(n.best, e.rule.rank)
		if text == "" {
			if n.parameter == nil {
				n.parameter = &segment{best: math.MaxInt}
			}
			n = n.parameter
			continue
		}
		if n.literals == nil {
			n.literals = map[string]*segment{}
		}
		if n.literals[text] == nil {
			n.literals[text] = &segment{best: math.MaxInt}
		}
		n = n.literals[text]
	}
	n.best = min(n.best, e.rule.rank)
	if anchored {
		n.whole.add(e)
	} else {
		n.open.add(e)
	}
}

// find looks for the path from a slash on.
func (n *segment) find(s *search, from int) {
	path := s.request.Path
	n.open.find(s, path[:from])
	if from == len(path) {
		n.whole.find(s, path)
		return
	}
	end := len(path)
	if i := strings.IndexByte(path[from+1:], '/'); i >= 0 {
		end = from + 1 + i
	}
	text := path[from+1 : end]
	if text == "" { // normalised, so the end
		if child := n.literals[trailing]; child != nil && child.best < s.best {
			child.find(s, end)
		}
		return
	}
	if child := n.literals[text]; child != nil && child.best < s.best {
		child.find(s, end)
	}
	if child := n.parameter; child != nil && child.best < s.best {
		child.find(s, end)
	}
}
