// Package rdftest compares RDF data sets in tests.
package rdftest

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// maxGuesses bounds how many pairs of blank nodes the search tries. Colour
// refinement settles all but highly symmetric graphs without any guess.
const maxGuesses = 100_000

// Isomorphic reports whether a and b are the same data set up to the labels of
// blank nodes (RDF 1.1 Concepts, sections 3.6 and 4.1). Both are sets: a quad
// that comes twice counts once. Language tags are compared without regard to
// letter case. It panics on graphs so symmetric that the search exceeds its
// bound, rather than give a wrong answer.
func Isomorphic(a, b []rdf.Quad) bool {
	left, right := newDataset(a), newDataset(b)
	if len(left.quads) != len(right.quads) || len(left.blanks) != len(right.blanks) {
		return false
	}
	guesses := 0
	return match(left, right, &guesses)
}

// dataset is a set of quads with a colour for each of its blank nodes.
type dataset struct {
	quads  []rdf.Quad
	blanks []string
	uses   map[string][]int // blank node to the quads that hold it
	colour map[string]uint64
}

func newDataset(quads []rdf.Quad) *dataset {
	d := &dataset{uses: map[string][]int{}, colour: map[string]uint64{}}
	seen := map[rdf.Quad]bool{}
	for _, q := range quads {
		q.Object.Lang = strings.ToLower(q.Object.Lang)
		if seen[q] {
			continue
		}
		seen[q] = true
		for _, t := range terms(&q) {
			if t.Kind != rdf.Blank {
				continue
			}
			uses := d.uses[t.Value]
			if uses == nil {
				d.blanks = append(d.blanks, t.Value)
				d.colour[t.Value] = 1
			}
			if len(uses) == 0 || uses[len(uses)-1] != len(d.quads) {
				d.uses[t.Value] = append(uses, len(d.quads))
			}
		}
		d.quads = append(d.quads, q)
	}
	return d
}

func terms(q *rdf.Quad) [4]rdf.Term {
	return [4]rdf.Term{q.Subject, q.Predicate, q.Object, q.Graph}
}

// seed makes colours comparable between data sets.
var seed = maphash.MakeSeed()

// refine recolours the blank nodes by the quads they stand in until that tells
// no more of them apart. It returns the number of colours.
func (d *dataset) refine() int {
	count := d.colours()
	for {
		next := make(map[string]uint64, len(d.blanks))
		for _, b := range d.blanks {
			sum := d.colour[b] * 0x9E3779B97F4A7C15
			for _, i := range d.uses[b] {
				sum += d.signature(i, b)
			}
			next[b] = sum
		}
		d.colour = next
		now := d.colours()
		if now <= count {
			return now
		}
		count = now
	}
}

// signature hashes a quad with colours in place of blank nodes and a mark in
// place of self.
func (d *dataset) signature(i int, self string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, t := range terms(&d.quads[i]) {
		if t.Kind != rdf.Blank {
			maphash.WriteComparable(&h, t)
			continue
		}
		maphash.WriteComparable(&h, d.colour[t.Value])
		maphash.WriteComparable(&h, t.Value == self)
	}
	return h.Sum64()
}

func (d *dataset) colours() int {
	distinct := map[uint64]bool{}
	for _, c := range d.colour {
		distinct[c] = true
	}
	return len(distinct)
}

// classes groups the blank nodes by colour.
func (d *dataset) classes() map[uint64][]string {
	out := map[uint64][]string{}
	for _, b := range d.blanks {
		out[d.colour[b]] = append(out[d.colour[b]], b)
	}
	return out
}

// match refines both sides, and as long as a colour is shared by several nodes,
// tries which of the right ones is the first of the left ones.
func match(left, right *dataset, guesses *int) bool {
	left.refine()
	right.refine()
	ours, theirs := left.classes(), right.classes()
	if len(ours) != len(theirs) {
		return false
	}
	var smallest []string
	var colour uint64
	for c, nodes := range ours {
		if len(theirs[c]) != len(nodes) {
			return false
		}
		if len(nodes) > 1 && (smallest == nil || len(nodes) < len(smallest)) {
			smallest, colour = nodes, c
		}
	}
	if smallest == nil {
		return equal(left, right, ours, theirs)
	}
	for _, candidate := range theirs[colour] {
		*guesses++
		if *guesses > maxGuesses {
			panic(fmt.Sprintf("rdftest: graph of %d blank nodes is too symmetric to compare", len(left.blanks)))
		}
		mark := maphash.Comparable(seed, *guesses)
		if match(left.marked(smallest[0], mark), right.marked(candidate, mark), guesses) {
			return true
		}
	}
	return false
}

// marked returns a copy in which one blank node has a colour of its own.
func (d *dataset) marked(blank string, colour uint64) *dataset {
	copied := *d
	copied.colour = make(map[string]uint64, len(d.colour))
	for b, c := range d.colour {
		copied.colour[b] = c
	}
	copied.colour[blank] = colour
	return &copied
}

// equal compares the quads under the mapping that the colours, each of one node,
// define. It makes a collision of hashes harmless.
func equal(left, right *dataset, ours, theirs map[uint64][]string) bool {
	renamed := map[string]string{}
	for c, nodes := range ours {
		renamed[nodes[0]] = theirs[c][0]
	}
	rename := func(t rdf.Term) rdf.Term {
		if t.Kind == rdf.Blank {
			t.Value = renamed[t.Value]
		}
		return t
	}
	have := map[rdf.Quad]bool{}
	for _, q := range right.quads {
		have[q] = true
	}
	for _, q := range left.quads {
		if !have[rdf.Quad{
			Subject:   rename(q.Subject),
			Predicate: rename(q.Predicate),
			Object:    rename(q.Object),
			Graph:     rename(q.Graph),
		}] {
			return false
		}
	}
	return true
}

// Diff returns the statements that only one of got and want has, as N-Quads with
// "-" (missing) or "+" (unexpected) before them, and the size of both. Blank
// nodes are distinguished by their surroundings, not their labels. It is empty
// when the two are isomorphic.
func Diff(got, want []rdf.Quad) string {
	if Isomorphic(got, want) {
		return ""
	}
	g, w := newDataset(got), newDataset(want)
	missing, extra := w.lines(), g.lines()
	var out []string
	for key, lines := range missing {
		both := min(len(lines), len(extra[key]))
		for _, l := range lines[both:] {
			out = append(out, "- "+l)
		}
	}
	for key, lines := range extra {
		both := min(len(lines), len(missing[key]))
		for _, l := range lines[both:] {
			out = append(out, "+ "+l)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[2:]+a[:1], b[2:]+b[:1]) })
	if len(out) == 0 {
		out = append(out, "the same statements but for the way blank nodes are shared")
	}
	return fmt.Sprintf("got %d statements, want %d:\n%s", len(g.quads), len(w.quads), strings.Join(out, "\n"))
}

// lines returns the quads in N-Quads, grouped by what is left of them when blank
// nodes have no label.
func (d *dataset) lines() map[string][]string {
	encoder, err := rdf.NewEncoder(rdf.NQuads, nil)
	if err != nil {
		panic(err)
	}
	out := map[string][]string{}
	for _, q := range d.quads {
		line := strings.TrimSuffix(string(encoder.Append(nil, q)), "\n")
		for _, t := range []*rdf.Term{&q.Subject, &q.Predicate, &q.Object, &q.Graph} {
			if t.Kind == rdf.Blank {
				t.Value = "x"
			}
		}
		key := string(encoder.Append(nil, q))
		out[key] = append(out[key], line)
	}
	return out
}
