package flcollect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// refusals are entries of clients whose texts are of so many characters, which
// take six bytes each in JSON, or of fewer where that is the bound.
func refusals(count, characters int) []ClientReport {
	entries := make([]ClientReport, count)
	norm := 1.0 / 3
	control := strings.Repeat("\x01", characters)
	for i := range entries {
		entries[i] = ClientReport{
			Client: fmt.Sprintf("session:%0*d", maxClient-len("session:"), i), Session: short(control, maxClient), Examples: 1 << 40,
			Update: strings.Repeat("f", 64), Outcome: Refused, Reason: short(control, maxReason), Norm: &norm, Bound: &norm,
			Reputation: &Reputation{Score: norm, Until: MaxRounds, Level: 5, Good: 9, Round: MaxRounds, Reason: short(control, maxClient)},
		}
	}
	return entries
}

func TestAReportOfTenThousandClientsIsDividedAndPaged(t *testing.T) {
	const clients = 10_000
	for _, audits := range []bool{true, false} {
		s, err := NewServer(Options{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
		require.NoError(t, err)
		s.life = t.Context()
		j := s.newJob(record{ID: "job", Run: 1, outcome: outcome{Token: "token", Round: 1}}, 0, nil)
		s.jobs["job"] = j
		l := &ledger{job: j, audits: audits}
		require.NoError(t, l.write(t.Context(), AuditLine{Round: 1, Clients: refusals(clients, 10)}))
		round := Round{Number: 1}
		if audits {
			round.Audit = &l.head
		}
		require.NoError(t, l.write(t.Context(), AuditLine{Round: 2, Clients: refusals(1, 10)}), "the next must not be taken for the rest")
		data, err := json.Marshal(round)
		require.NoError(t, err)
		require.NoError(t, s.put(t.Context(), roundKey("token", 1), data))

		var log bytes.Buffer
		lines := 0
		for line, err := range s.Audit(t.Context(), "job", 0) {
			require.NoError(t, err)
			log.Write(append(line, '\n'))
			lines++
		}
		if audits {
			require.Equal(t, clients/auditPart+1, lines)
			last, err := VerifyAudit(&log)
			require.NoError(t, err)
			require.Equal(t, l.head, last)
			round.Audit.Line--
			round.Audit.Lines = clients / auditPart
			data, err = json.Marshal(round)
			require.NoError(t, err)
			require.NoError(t, s.put(t.Context(), roundKey("token", 1), data))
		}
		seen := map[string]bool{}
		for after := 0; ; {
			report, err := s.Report(t.Context(), "job", 1, after, 1300)
			require.NoError(t, err)
			require.Equal(t, Counts{Refused: clients}, report.Counts)
			require.LessOrEqual(t, len(report.Clients), maxReport)
			if len(report.Clients) == 0 {
				break
			}
			for _, c := range report.Clients {
				seen[c.Client] = true
			}
			after += len(report.Clients)
		}
		require.Len(t, seen, clients)
		report, err := s.Report(t.Context(), "job", 1, 499, 3)
		require.NoError(t, err)
		require.Len(t, report.Clients, 3)
	}
}

func TestALineOfTheLongestTextsIsHalfADocumentAtMost(t *testing.T) {
	text, err := json.Marshal(AuditLine{Clients: refusals(auditPart, 10*maxReason), Error: strings.Repeat("\x01", maxReason)})
	require.NoError(t, err)
	require.Less(t, len(text), storage.MaxDataSize/2)
	require.NoError(t, storage.ValidData(text))
}

func TestPartsOfAnAttemptThatAreMissingShow(t *testing.T) {
	s, err := NewServer(Options{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	s.life = t.Context()
	l := &ledger{job: s.newJob(record{ID: "job", Run: 1}, 0, nil), audits: true}
	entries := make([]ClientReport, 3*auditPart)
	require.NoError(t, l.write(t.Context(), AuditLine{Round: 1, Clients: entries}))
	require.NoError(t, l.write(t.Context(), AuditLine{Round: 2, Clients: entries[:1]}))
	var lines [][]byte
	for line, err := range s.Audit(t.Context(), "job", 0) {
		require.NoError(t, err)
		lines = append(lines, line)
	}
	chained := func(keep ...int) *bytes.Buffer { // as somebody would who knows how the lines hang together
		var log bytes.Buffer
		var head AuditRef
		for _, i := range keep {
			var line AuditLine
			require.NoError(t, json.Unmarshal(lines[i], &line))
			line.Line, line.Previous = head.Line+1, head.SHA256
			text, err := json.Marshal(line)
			require.NoError(t, err)
			head = refTo(line, text)
			log.Write(append(text, '\n'))
		}
		return &log
	}
	_, err = VerifyAudit(chained(0, 1, 2, 3))
	require.NoError(t, err)
	_, err = VerifyAudit(chained(0, 1, 0, 1, 2, 3))
	require.NoError(t, err, "a server that was killed tries again")
	for _, keep := range [][]int{{0, 2, 3}, {1, 2, 3}, {0, 1, 3}, {0, 1, 1, 2, 3}} {
		_, err = VerifyAudit(chained(keep...))
		require.ErrorIs(t, err, ErrAudit, "%v", keep)
	}
}
