package upstream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Bounds of a [Summary].
const (
	mostMetrics  = 1000 // of a client
	mostRefusals = 100
	mostPath     = 1000 // bytes
	mostReason   = 503  // excerpt.MaxReason with an ellipsis
	mostBytes    = 64 << 20
	mostMemory   = 128 << 20 // of what is decoded, in bytes
)

// What is decoded takes about so many bytes of memory, beside those of its text.
const (
	textCost   = 16
	reportCost = 300 // also to find it twice
	metricsFew = 8   // metrics that a map has room for at least
	metricCost = 60
)

// ErrSummary matches the error of [Decode].
var ErrSummary = errors.New("upstream: bad summary of an edge")

// Summary is what became of the clients of an edge in a phase. An edge that is a client
// of an edge has its clients in the summary of that one.
type Summary struct {
	// Reports are the clients whose answers count, with their metrics. Text and bytes
	// among these have no content.
	Reports []strategy.Report
	// Losses are those of an evaluation, one for each of Reports; nil for a fit.
	Losses []float64
	// Counts are how many clients took part.
	Counts Counts
	// Refusals are updates that were refused, at most 100.
	Refusals []Refusal
}

// Counts counts the clients below an edge.
type Counts struct {
	// Clients were drawn, and Failures of them gave no valid answer.
	Clients, Failures int64
	// Far is how many updates lay beyond the bound of norm bounding at their collector,
	// and Refused how many it refused. Both are zero for an evaluation.
	Far, Refused int64
}

// Plus returns the sum of both.
func (c Counts) Plus(more Counts) Counts {
	return Counts{c.Clients + more.Clients, c.Failures + more.Failures, c.Far + more.Far, c.Refused + more.Refused}
}

// Refusal is an update that was refused.
type Refusal struct{ Client, Reason string }

// Examples returns the sum of the examples of the reports.
func (s Summary) Examples() uint64 {
	var sum uint64
	for _, r := range s.Reports {
		sum += uint64(r.Examples)
	}
	return sum
}

// The kinds of metrics.
const (
	kindFloat byte = iota
	kindInt
	kindUint
	kindFalse
	kindTrue
	kindText
	kindBytes
)

// version is the first byte of an encoding.
const version = 1

// Encode returns the summary as bytes: the version; the counts; the texts that reports
// refer to, which are paths and names of metrics; the reports; the losses; the refusals.
// Numbers are varints, floating-point numbers are 8 bytes, and texts begin with their
// length.
func (s Summary) Encode() []byte {
	out := []byte{version}
	for _, n := range []int64{s.Counts.Clients, s.Counts.Failures, s.Counts.Far, s.Counts.Refused} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	var texts []string
	index := map[string]uint64{}
	refer := func(text string) uint64 {
		text = bound(text)
		at, ok := index[text]
		if !ok {
			at = uint64(len(texts))
			index[text] = at
			texts = append(texts, text)
		}
		return at
	}
	var reports []byte
	for _, r := range s.Reports {
		reports = appendText(reports, bound(r.Client))
		reports = binary.AppendUvarint(reports, refer(r.Path))
		reports = binary.AppendUvarint(reports, uint64(r.Examples))
		reports = binary.AppendUvarint(reports, uint64(len(r.Metrics)))
		for name, v := range r.Metrics {
			reports = binary.AppendUvarint(reports, refer(name))
			reports = appendMetric(reports, v)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(texts)))
	for _, text := range texts {
		out = appendText(out, text)
	}
	out = binary.AppendUvarint(out, uint64(len(s.Reports)))
	out = append(out, reports...)
	out = binary.AppendUvarint(out, uint64(len(s.Losses)))
	for _, loss := range s.Losses {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(loss))
	}
	refusals := s.Refusals[:min(len(s.Refusals), mostRefusals)]
	out = binary.AppendUvarint(out, uint64(len(refusals)))
	for _, r := range refusals {
		out = appendText(appendText(out, shown(r.Client, mostPath)), shown(r.Reason, mostReason))
	}
	return out
}

// shown returns a text for people that Decode takes.
func shown(text string, most int) string { return excerpt.Cut(text, most-len("…")) }

// bound returns a text that Decode takes: a longer one is cut, and ends with its digest.
func bound(text string) string {
	if len(text) <= mostPath {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return excerpt.Cut(text, mostPath-40) + hex.EncodeToString(sum[:16])
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

func appendMetric(to []byte, v any) []byte {
	switch v := v.(type) {
	case float64:
		return binary.LittleEndian.AppendUint64(append(to, kindFloat), math.Float64bits(v))
	case int64:
		return binary.AppendVarint(append(to, kindInt), v)
	case uint64:
		return binary.AppendUvarint(append(to, kindUint), v)
	case bool:
		if v {
			return append(to, kindTrue)
		}
		return append(to, kindFalse)
	case []byte:
		return append(to, kindBytes)
	}
	return append(to, kindText)
}

// Decode reads what Encode has written, of at most 64 MiB, which must take at most about
// 128 MiB of memory: that is enough for 100,000 clients with ten metrics. It checks that
// every client is there once, the numbers of examples, and that losses are finite.
func Decode(data []byte) (Summary, error) {
	if len(data) > mostBytes {
		return Summary{}, fmt.Errorf("%w: it has %d bytes, at most %d", ErrSummary, len(data), mostBytes)
	}
	d := &decoder{rest: data}
	s := d.summary()
	if d.err == nil && len(d.rest) > 0 {
		d.fail("there are %d bytes after its end", len(d.rest))
	}
	if d.err != nil {
		return Summary{}, d.err
	}
	return s, nil
}

// decoder reads an encoding. After the first error everything that it returns is zero.
type decoder struct {
	rest   []byte
	memory int // that is taken
	err    error
}

// take counts memory. It returns false if that is too much.
func (d *decoder) take(bytes int) bool {
	if d.memory += bytes; d.memory > mostMemory {
		d.fail("it takes more than %d bytes of memory", mostMemory)
	}
	return d.err == nil
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrSummary, fmt.Sprintf(format, args...))
	}
	d.rest = nil
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail("it ends too early")
		return nil
	}
	read := d.rest[:n]
	d.rest = d.rest[n:]
	return read
}

func (d *decoder) number(most uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > most {
		d.fail("a number is missing, or greater than %d", most)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads how many things follow, each of so many bytes at least.
func (d *decoder) count(most, least uint64) int {
	n := d.number(most)
	if n*least > uint64(len(d.rest)) {
		d.fail("it ends too early")
		return 0
	}
	return int(n)
}

func (d *decoder) text(most uint64) string {
	text := d.bytes(d.number(most))
	d.take(len(text))
	return string(text)
}

// clean replaces what is not UTF-8, and makes no text longer.
func clean(text string) string { return strings.ToValidUTF8(text, "?") }

func (d *decoder) float() float64 {
	if b := d.bytes(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) summary() (s Summary) {
	if v := d.number(math.MaxUint64); d.err == nil && v != version {
		d.fail("it is of version %d, expected %d", v, version)
	}
	for _, n := range []*int64{&s.Counts.Clients, &s.Counts.Failures, &s.Counts.Far, &s.Counts.Refused} {
		*n = int64(d.number(strategy.MaxPartialUpdates))
	}
	count := d.count(math.MaxInt32, 1)
	if !d.take(count * textCost) {
		return Summary{}
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = d.text(mostPath)
	}
	type place struct{ client, path string }
	seen := map[place]bool{}
	n := d.count(strategy.MaxPartialUpdates, 4)
	for range n {
		r := d.report(texts)
		if !d.take(reportCost) {
			return Summary{}
		}
		at := place{r.Client, r.Path}
		if seen[at] {
			d.fail("client %q is there twice", r.Client)
			return Summary{}
		}
		seen[at] = true
		s.Reports = append(s.Reports, r)
	}
	if losses := d.count(strategy.MaxPartialUpdates, 8); losses > 0 {
		if losses != n {
			d.fail("there are %d losses of %d clients", losses, n)
		}
		for range losses {
			loss := d.float()
			if math.IsNaN(loss) || math.IsInf(loss, 0) {
				d.fail("a loss is %v", loss)
			}
			s.Losses = append(s.Losses, loss)
		}
	}
	for range d.count(mostRefusals, 2) {
		s.Refusals = append(s.Refusals, Refusal{clean(d.text(mostPath)), clean(d.text(mostReason))})
	}
	return s
}

func (d *decoder) report(texts []string) strategy.Report {
	refer := func() string {
		at := d.number(math.MaxInt32)
		if d.err != nil || at >= uint64(len(texts)) {
			d.fail("it refers to text %d of %d", at, len(texts))
			return ""
		}
		return texts[at]
	}
	r := strategy.Report{Client: d.text(mostPath), Path: refer(), Examples: int64(d.number(strategy.MaxExamples))}
	if d.err == nil && r.Examples < 1 {
		d.fail("num_examples of %q is 0", r.Client)
	}
	n := d.count(mostMetrics, 2)
	if n > 0 && d.take(max(n, metricsFew)*metricCost) {
		r.Metrics = make(map[string]any, n)
	}
	for range n {
		name, v := refer(), d.metric()
		if d.err != nil {
			return strategy.Report{}
		}
		r.Metrics[name] = v
	}
	if d.err == nil && len(r.Metrics) != n {
		d.fail("a metric of %q is there twice", r.Client)
	}
	return r
}

func (d *decoder) metric() any {
	kind := d.bytes(1)
	if kind == nil {
		return nil
	}
	switch kind[0] {
	case kindFloat:
		return d.float()
	case kindInt:
		v, n := binary.Varint(d.rest)
		if n <= 0 {
			d.fail("a metric is not whole")
			return nil
		}
		d.rest = d.rest[n:]
		return v
	case kindUint:
		return d.number(math.MaxUint64)
	case kindFalse, kindTrue:
		return kind[0] == kindTrue
	case kindText:
		return ""
	case kindBytes:
		return []byte(nil)
	}
	d.fail("a metric is of kind %d", kind[0])
	return nil
}
