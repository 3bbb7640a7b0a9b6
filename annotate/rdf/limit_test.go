package rdf_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// endless repeats a text forever, after a head.
type endless struct {
	head, text string
	at         int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		if e.at < len(e.head) {
			p[i] = e.head[e.at]
		} else {
			p[i] = e.text[(e.at-len(e.head))%len(e.text)]
		}
		e.at++
	}
	return len(p), nil
}

func drain(t *testing.T, in io.Reader, f rdf.Format, opts *rdf.ReaderOptions) (int, error) {
	t.Helper()
	r, err := rdf.NewReader(in, f, opts)
	require.NoError(t, err)
	for n := 0; ; n++ {
		if _, err := r.Read(); err != nil {
			return n, err
		}
	}
}

func TestReader_boundsNesting(t *testing.T) {
	for _, open := range []string{"[ <s:p> ", "( ", "( [ <s:p> "} {
		_, err := drain(t, strings.NewReader("<s:a> <s:b> "+strings.Repeat(open, 10_000)), rdf.Turtle, nil)
		require.ErrorIs(t, err, rdf.ErrLimit)
		require.ErrorContains(t, err, "deeper than 64")
	}
	deep := func(n int) io.Reader {
		return strings.NewReader("<s:a> <s:b> " + strings.Repeat("( ", n) + strings.Repeat(") ", n) + ".")
	}
	_, err := drain(t, deep(64), rdf.Turtle, nil)
	require.Equal(t, io.EOF, err)
	_, err = drain(t, deep(65), rdf.Turtle, nil)
	require.ErrorIs(t, err, rdf.ErrLimit)
	_, err = drain(t, deep(10_000), rdf.Turtle, &rdf.ReaderOptions{MaxDepth: 10_000})
	require.Equal(t, io.EOF, err)
}

func TestReader_boundsTokens(t *testing.T) {
	for _, head := range []string{
		"<", "<s:", "_:", "@", "<s:a> <s:b> \"", "<s:a> <s:b> '''", "<s:a> <s:b> \"\"@", "<s:a> <s:b> 1", "<s:a> <s:b> 1.",
		"@prefix ", "@prefix : <s:> . :", "prefix",
	} {
		in := &endless{head: head, text: "1234567890"}
		if strings.HasSuffix(head, "@") {
			in.text = "abc"
		}
		if strings.HasPrefix(head, "@prefix ") {
			in.text = "a"
		}
		_, err := drain(t, in, rdf.Turtle, &rdf.ReaderOptions{MaxToken: 10_000})
		require.ErrorIs(t, err, rdf.ErrLimit, head)
		require.ErrorContains(t, err, "token longer than 10000 bytes", head)
		require.Less(t, in.at, 50_000, "it stops reading")
	}
}

func TestReader_boundsDocuments(t *testing.T) {
	const line = "<s:a> <s:b> <s:c> .\n"
	for _, f := range readable() {
		n, err := drain(t, &endless{text: line}, f, &rdf.ReaderOptions{MaxBytes: 1000})
		require.ErrorIs(t, err, rdf.ErrLimit)
		require.ErrorContains(t, err, "longer than 1000 bytes")
		require.Equal(t, 1000/len(line), n, "what lies within the limit is read")
		n, err = drain(t, strings.NewReader(strings.Repeat(line, 50)), f, &rdf.ReaderOptions{MaxBytes: 1000})
		require.Equal(t, io.EOF, err, "the limit itself is allowed")
		require.Equal(t, 50, n)
		for _, blank := range []string{" ", "\n", "# comment", "#\n"} {
			_, err = drain(t, &endless{text: blank}, f, &rdf.ReaderOptions{MaxBytes: 1 << 16})
			require.ErrorIs(t, err, rdf.ErrLimit)
		}
	}
}

func TestReader_boundsExpandedNames(t *testing.T) {
	long := "http://example.org/" + strings.Repeat("x", 500_000) + "/"
	for _, head := range []string{"@prefix p: <" + long + "> . p:a p:b p:c", "@base <" + long + "> . <a> <b> <c>"} {
		repeated := ", p:c"
		if strings.HasPrefix(head, "@base") {
			repeated = ", <c>"
		}
		in := &endless{head: head, text: repeated}
		n, err := drain(t, in, rdf.Turtle, nil)
		require.ErrorIs(t, err, rdf.ErrLimit)
		require.ErrorContains(t, err, "128 times")
		require.Less(t, n, 1000)
	}
	_, err := drain(t, strings.NewReader("@prefix p: <http://example.org/"+strings.Repeat("x", 400)+"> . p:a p:b p:c"+
		strings.Repeat(", p:c", 5000)+"."), rdf.Turtle, nil)
	require.Equal(t, io.EOF, err)
}

func TestReader_takesMemoryIndependentOfTheDocument(t *testing.T) {
	for _, doc := range []*endless{
		{text: "<s:a> <s:b> <s:c> .\n"},
		{head: "<s:a> <s:b> 0", text: ", 1"},
		{head: "<s:a> <s:b> (", text: " 1"},
		{head: "<s:a> <s:b> 0", text: ", [ <s:c> <s:d> ]"},
		{head: "<s:a> <s:b> 0", text: "; <s:c> ( )"},
	} {
		r, err := rdf.NewReader(doc, rdf.Turtle, nil)
		require.NoError(t, err)
		heap := func(n int) uint64 {
			for range n {
				_, err := r.Read()
				require.NoError(t, err)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap(1000)
		after := heap(30_000)
		require.Less(t, after, before+1<<20, doc.head+doc.text)
	}
}
