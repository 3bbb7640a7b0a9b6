package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/storage"
)

// refusals are reports of clients whose texts have so many characters, which take six
// bytes each in JSON, or fewer where that is the bound.
func refusals(count, characters int) []ClientReport {
	entries := make([]ClientReport, count)
	norm := 1.0 / 3
	control := strings.Repeat("\x01", characters)
	for i := range entries {
		entries[i] = ClientReport{
			Client: fmt.Sprintf("session:%0*d", excerpt.MaxClient-len("session:"), i),
			Name:   strings.Repeat("<", flower.MaxName), Session: excerpt.Client(control), Examples: 1 << 40,
			Update: strings.Repeat("f", 64), Outcome: Refused, Reason: excerpt.Cut(control, excerpt.MaxReason), Norm: &norm, Bound: &norm,
			Reputation: &reputation.Reputation{Score: norm, Until: 1_000_000, Level: 5, Good: 9, Round: 1_000_000, Reason: excerpt.Client(control)},
		}
	}
	return entries
}

var testRun = Run{Job: "job", Run: 1, Token: "token"}

func openLog(t *testing.T, store persist.Store, chained bool) *Log {
	t.Helper()
	l, err := OpenLog(t.Context(), store, testRun, Ref{}, chained)
	require.NoError(t, err)
	return l
}

func TestReadReport_pagesTenThousandClients(t *testing.T) {
	const clients = 10_000
	for _, chained := range []bool{true, false} {
		store := persist.Store{Documents: storage.NewMemoryDocuments()}
		l := openLog(t, store, chained)
		require.NoError(t, l.Write(t.Context(), Line{Round: 1, Clients: refusals(clients, 10)}))
		var ref *Ref
		if chained {
			head := l.Head()
			require.Equal(t, clients/partSize, head.Lines)
			ref = &head
		}
		require.NoError(t, l.Write(t.Context(), Line{Round: 2, Clients: refusals(1, 10)}), "it is no part of round 1")

		var log bytes.Buffer
		lines := 0
		for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
			require.NoError(t, err)
			log.Write(append(line, '\n'))
			lines++
		}
		if chained {
			require.Equal(t, clients/partSize+1, lines)
			last, err := Verify(&log)
			require.NoError(t, err)
			require.Equal(t, l.Head(), last)
		}
		seen := map[string]bool{}
		for after := 0; ; {
			report, err := ReadReport(t.Context(), store.Documents, testRun, 1, ref, after, 1300)
			require.NoError(t, err)
			require.Equal(t, Counts{Refused: clients}, report.Counts)
			require.LessOrEqual(t, len(report.Clients), MaxReport)
			if len(report.Clients) == 0 {
				break
			}
			for _, c := range report.Clients {
				seen[c.Client] = true
			}
			after += len(report.Clients)
		}
		require.Len(t, seen, clients)
		report, err := ReadReport(t.Context(), store.Documents, testRun, 1, ref, 499, 3)
		require.NoError(t, err)
		require.Len(t, report.Clients, 3)
	}
}

func TestLine_withTheLongestTextsIsHalfADocumentAtMost(t *testing.T) {
	text, err := json.Marshal(Line{Clients: refusals(partSize, 10*excerpt.MaxReason), Error: strings.Repeat("\x01", excerpt.MaxReason)})
	require.NoError(t, err)
	require.Less(t, len(text), storage.MaxDataSize/2)
	require.NoError(t, storage.ValidData(text))
}

func TestVerify_detectsMissingPartsOfAnAttempt(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	l := openLog(t, store, true)
	entries := make([]ClientReport, 3*partSize)
	require.NoError(t, l.Write(t.Context(), Line{Round: 1, Clients: entries}))
	require.NoError(t, l.Write(t.Context(), Line{Round: 2, Clients: entries[:1]}))
	var lines [][]byte
	for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
		require.NoError(t, err)
		lines = append(lines, line)
	}
	chained := func(keep ...int) *bytes.Buffer { // with digests that fit together
		var log bytes.Buffer
		var head Ref
		for _, i := range keep {
			var line Line
			require.NoError(t, json.Unmarshal(lines[i], &line))
			line.Line, line.Previous = head.Line+1, head.SHA256
			text, err := json.Marshal(line)
			require.NoError(t, err)
			head = refTo(line, text)
			log.Write(append(text, '\n'))
		}
		return &log
	}
	_, err := Verify(chained(0, 1, 2, 3))
	require.NoError(t, err)
	_, err = Verify(chained(0, 1, 0, 1, 2, 3))
	require.NoError(t, err, "a server that was killed tries again")
	for _, keep := range [][]int{{0, 2, 3}, {1, 2, 3}, {0, 1, 3}, {0, 1, 1, 2, 3}} {
		_, err = Verify(chained(keep...))
		require.ErrorIs(t, err, ErrBroken, "%v", keep)
	}
}

func TestFinite_isNilForNumbersThatJSONLacks(t *testing.T) {
	require.Nil(t, finite(math.NaN()))
	require.Nil(t, finite(math.Inf(1)))
}

func TestLog_Write_goesOnAfterALateLineOfTheLastServer(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	shared := testRun
	shared.Shared = true
	last, err := OpenLog(t.Context(), store, shared, Ref{}, true)
	require.NoError(t, err)
	next, err := OpenLog(t.Context(), store, shared, Ref{}, true)
	require.NoError(t, err)
	require.NoError(t, last.Write(t.Context(), Line{Round: 1, Error: "late"}))
	require.NoError(t, next.Write(t.Context(), Line{Round: 1}))
	require.Equal(t, int64(2), next.Head().Line)

	var log bytes.Buffer
	for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
		require.NoError(t, err)
		log.Write(append(line, '\n'))
	}
	head, err := Verify(&log)
	require.NoError(t, err)
	require.Equal(t, next.Head().SHA256, head.SHA256)
	require.ErrorIs(t, openLogAt(t, store, last.Head()).Write(t.Context(), Line{Round: 2}), storage.ErrConflict)
}

// openLogAt returns the log of a server that is alone, whose end is not read.
func openLogAt(t *testing.T, store persist.Store, head Ref) *Log {
	t.Helper()
	l := openLog(t, store, true)
	l.head = head
	return l
}
