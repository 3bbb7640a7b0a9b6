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
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// refusals are reports of clients whose texts have so many characters, which take six
// bytes each in JSON, or fewer where that is the bound.
func refusals(count, characters int) []report.Client {
	entries := make([]report.Client, count)
	norm := 1.0 / 3
	control := strings.Repeat("\x01", characters)
	for i := range entries {
		entries[i] = report.Client{
			Client: fmt.Sprintf("session:%0*d", excerpt.MaxClient-len("session:"), i),
			Name:   strings.Repeat("<", flower.MaxName), Session: excerpt.Client(control), Examples: 1 << 40,
			Update: strings.Repeat("f", 64), Outcome: report.Refused, Reason: excerpt.Cut(control, excerpt.MaxReason), Norm: &norm, Bound: &norm,
			Reputation: &report.Reputation{Score: norm, Until: 1_000_000, Level: 5, Good: 9, Round: 1_000_000, Reason: excerpt.Client(control)},
		}
	}
	return entries
}

var testRun = Run{Job: "job", Run: 1, Token: "token"}

func openLog(t *testing.T, store persist.Store, chained bool) *Log {
	t.Helper()
	l, err := OpenLog(t.Context(), store, testRun, report.AuditRef{}, chained)
	require.NoError(t, err)
	return l
}

func TestReadReport_pagesTenThousandClients(t *testing.T) {
	const clients = 10_000
	for _, chained := range []bool{true, false} {
		store := persist.Store{Documents: storage.NewMemoryDocuments()}
		l := openLog(t, store, chained)
		require.NoError(t, l.Write(t.Context(), report.AuditLine{Round: 1, Clients: refusals(clients, 10)}))
		var ref *report.AuditRef
		if chained {
			head := l.Head()
			require.Equal(t, clients/partSize, head.Lines)
			ref = &head
		}
		require.NoError(t, l.Write(t.Context(), report.AuditLine{Round: 2, Clients: refusals(1, 10)}), "it is no part of round 1")

		var log bytes.Buffer
		lines := 0
		for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
			require.NoError(t, err)
			log.Write(append(line, '\n'))
			lines++
		}
		if chained {
			require.Equal(t, clients/partSize+1, lines)
			last, err := report.VerifyAudit(&log)
			require.NoError(t, err)
			require.Equal(t, l.Head(), last)
		}
		seen := map[string]bool{}
		for after := 0; ; {
			page, err := ReadReport(t.Context(), store.Documents, testRun, 1, ref, after, 1300)
			require.NoError(t, err)
			require.Equal(t, report.Counts{Refused: clients}, page.Counts)
			require.LessOrEqual(t, len(page.Clients), MaxReport)
			if len(page.Clients) == 0 {
				break
			}
			for _, c := range page.Clients {
				seen[c.Client] = true
			}
			after += len(page.Clients)
		}
		require.Len(t, seen, clients)
		page, err := ReadReport(t.Context(), store.Documents, testRun, 1, ref, 499, 3)
		require.NoError(t, err)
		require.Len(t, page.Clients, 3)
	}
}

func TestLog_lineWithTheLongestTextsIsHalfADocumentAtMost(t *testing.T) {
	text, err := json.Marshal(report.AuditLine{
		Clients: refusals(partSize, 10*excerpt.MaxReason), Error: strings.Repeat("\x01", excerpt.MaxReason),
	})
	require.NoError(t, err)
	require.Less(t, len(text), storage.MaxDataSize/2)
	require.NoError(t, storage.ValidData(text))
}

func TestLog_verificationDetectsMissingPartsOfAnAttempt(t *testing.T) {
	store := persist.Store{Documents: storage.NewMemoryDocuments()}
	l := openLog(t, store, true)
	entries := make([]report.Client, 3*partSize)
	require.NoError(t, l.Write(t.Context(), report.AuditLine{Round: 1, Clients: entries}))
	require.NoError(t, l.Write(t.Context(), report.AuditLine{Round: 2, Clients: entries[:1]}))
	var lines [][]byte
	for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
		require.NoError(t, err)
		lines = append(lines, line)
	}
	chained := func(keep ...int) *bytes.Buffer { // with digests that fit together
		var log bytes.Buffer
		var head report.AuditRef
		for _, i := range keep {
			var line report.AuditLine
			require.NoError(t, json.Unmarshal(lines[i], &line))
			line.Line, line.Previous = head.Line+1, head.SHA256
			text, err := json.Marshal(line)
			require.NoError(t, err)
			head = line.Ref(text)
			log.Write(append(text, '\n'))
		}
		return &log
	}
	_, err := report.VerifyAudit(chained(0, 1, 2, 3))
	require.NoError(t, err)
	_, err = report.VerifyAudit(chained(0, 1, 0, 1, 2, 3))
	require.NoError(t, err, "a server that was killed tries again")
	for _, keep := range [][]int{{0, 2, 3}, {1, 2, 3}, {0, 1, 3}, {0, 1, 1, 2, 3}} {
		_, err = report.VerifyAudit(chained(keep...))
		require.ErrorIs(t, err, report.ErrAudit, "%v", keep)
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
	last, err := OpenLog(t.Context(), store, shared, report.AuditRef{}, true)
	require.NoError(t, err)
	next, err := OpenLog(t.Context(), store, shared, report.AuditRef{}, true)
	require.NoError(t, err)
	require.NoError(t, last.Write(t.Context(), report.AuditLine{Round: 1, Error: "late"}))
	require.NoError(t, next.Write(t.Context(), report.AuditLine{Round: 1}))
	require.Equal(t, int64(2), next.Head().Line)

	var log bytes.Buffer
	for line, err := range Lines(t.Context(), store.Documents, "job", 0) {
		require.NoError(t, err)
		log.Write(append(line, '\n'))
	}
	head, err := report.VerifyAudit(&log)
	require.NoError(t, err)
	require.Equal(t, next.Head().SHA256, head.SHA256)
	require.ErrorIs(t, openLogAt(t, store, last.Head()).Write(t.Context(), report.AuditLine{Round: 2}), storage.ErrConflict)
}

// openLogAt returns the log of a server that is alone, whose end is not read.
func openLogAt(t *testing.T, store persist.Store, head report.AuditRef) *Log {
	t.Helper()
	l := openLog(t, store, true)
	l.head = head
	return l
}
