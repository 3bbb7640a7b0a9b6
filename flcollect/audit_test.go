package flcollect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// auditLog returns the lines of a job's audit log.
func (w *world) auditLog(t *testing.T, id string) []string {
	t.Helper()
	var lines []string
	for line, err := range w.Audit(t.Context(), id, 0) {
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	return lines
}

func joined(lines []string) *strings.Reader {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	return strings.NewReader(text.String())
}

func readLine(t *testing.T, text string) report.AuditLine {
	t.Helper()
	var line report.AuditLine
	require.NoError(t, json.Unmarshal([]byte(text), &line))
	return line
}

func TestServer_Audit_digestIsWhatAClientComputes(t *testing.T) {
	// hashlib.sha256(b"\2\0\0\0\0\0\0\0ab" + b"\0"*8 + b"\1\0\0\0\0\0\0\0c").hexdigest()
	whole := flower.Parameters{Tensors: []flower.Blob{{[]byte("ab")}, {}, {[]byte("c")}}}
	require.Equal(t, "fc8c9cb2fcf043eccbb4a1d9db773cf56aac8ccc96cd90987a38a862db532f0b", whole.Digest())
	chunked := flower.Parameters{Tensors: []flower.Blob{{[]byte("a"), nil, []byte("b")}, {nil}, {[]byte("c")}}}
	require.Equal(t, whole.Digest(), chunked.Digest())
	shifted := flower.Parameters{Tensors: []flower.Blob{{[]byte("a")}, {[]byte("b")}, {[]byte("c")}}}
	require.NotEqual(t, whole.Digest(), shifted.Digest())
	// numpy.save of numpy.array([1, 2, 3], "<f4"), as a client sends it
	require.Equal(t, "2195406fbaf67ba1b81a88bb3aa4ae71e0d13c3717b278d743e7dd6982a47fe8",
		flower.FromTensors(tensor.FromFloat32s([]float32{1, 2, 3})).Digest())
}

func TestServer_Audit_hasEveryRoundAndUpdate(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	sent := make(chan string, 10)
	for i := range 2 {
		w.join(t, trainer{step: float64(i), examples: int64(10 * (i + 1)),
			fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
				sent <- res.Parameters.Digest()
				return nil
			}})
	}
	require.NoError(t, w.Start(t.Context(), "job", config(2, 2)))
	w.untilState(t, "job", report.Finished)
	lines := w.auditLog(t, "job")
	require.Len(t, lines, 2)
	last, err := report.VerifyAudit(joined(lines))
	require.NoError(t, err)
	require.EqualValues(t, 2, last.Line)
	first, second := readLine(t, lines[0]), readLine(t, lines[1])
	require.Equal(t, "job", first.Job)
	require.Equal(t, 1, first.Round)
	require.True(t, first.Aggregated)
	require.Equal(t, report.Counts{Kept: 2}, first.Counts)
	require.Equal(t, first.Result, second.Model, "what a round gives, the next sends")
	initial, err := zeros(t.Context(), jobconfig.Config{})
	require.NoError(t, err)
	require.Equal(t, flower.FromTensors(initial...).Digest(), first.Model)
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, flower.FromTensors(result.Weights...).Digest(), second.Result)
	require.ElementsMatch(t, []string{<-sent, <-sent}, []string{first.Clients[0].Update, first.Clients[1].Update})
	require.ElementsMatch(t, []int64{10, 20}, []int64{first.Clients[0].Examples, first.Clients[1].Examples})
	require.Less(t, first.Clients[0].Client, first.Clients[1].Client)

	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, last, *rounds[1].Audit)
	page, err := w.Report(t.Context(), "job", 2, 0, 0)
	require.NoError(t, err)
	require.Equal(t, second.Clients, page.Clients)
	_, err = w.Report(t.Context(), "job", 3, 0, 0)
	require.ErrorIs(t, err, report.ErrNoReport)
	_, err = w.Report(t.Context(), "unknown", 1, 0, 0)
	require.ErrorIs(t, err, report.ErrNoReport)
}

func TestServer_Audit_goesOnWithTheNextRun(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for run := range 2 {
		_, leave := w.join(t, trainer{step: 1, examples: 1})
		require.NoError(t, w.Start(t.Context(), "job", config(1+run, 1)))
		w.until(t, "job", "finished", func(s flcollect.Status) bool { return s.Run == int64(run+1) && s.State == report.Finished })
		leave()
	}
	lines := w.auditLog(t, "job")
	require.Len(t, lines, 3)
	_, err := report.VerifyAudit(joined(lines))
	require.NoError(t, err)
	require.EqualValues(t, 2, readLine(t, lines[1]).Run)
}

func TestServer_Audit_hasARoundThatChangesNothing(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	w.join(t, trainer{step: 1, examples: -1})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Interrupted)
	line := readLine(t, w.auditLog(t, "job")[0])
	require.False(t, line.Aggregated)
	require.Equal(t, line.Model, line.Result)
	require.Equal(t, report.Refused, line.Clients[0].Outcome)
	require.Contains(t, line.Clients[0].Reason, "num_examples is -1")
	require.NotEmpty(t, line.Clients[0].Update)
}

func TestServer_Audit_hasAFailedAttempt(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow, _ := gated(1, 1)
	w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Training)
	require.NoError(t, w.Stop(t.Context()))
	line := readLine(t, w.auditLog(t, "job")[0])
	require.Equal(t, "stopped on request", line.Error)
	require.Equal(t, report.Failed, line.Clients[0].Outcome)
	require.False(t, line.Aggregated)
	require.NotEmpty(t, line.Model)
}

func TestServer_Audit_verificationRefusesAChangedLog(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	w.join(t, trainer{step: 1, examples: 12})
	require.NoError(t, w.Start(t.Context(), "job", config(5, 1)))
	w.untilState(t, "job", report.Finished)
	lines := w.auditLog(t, "job")
	other := w.auditLog(t, "unknown")
	require.Empty(t, other)
	for name, c := range map[string]struct {
		touch func(lines []string) []string
		says  string
	}{
		"changed": {func(l []string) []string {
			l[1] = strings.Replace(l[1], `"num_examples":12`, `"num_examples":13`, 1)
			return l
		}, "line 3: flcollect: the audit log is broken: it follows a line with the digest"},
		"removed": {func(l []string) []string { return slices.Delete(l, 2, 3) },
			"line 3: flcollect: the audit log is broken: it says that it is line 4"},
		"swapped": {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l },
			"line 2: flcollect: the audit log is broken: it says that it is line 3"},
		"repeated": {func(l []string) []string { return slices.Insert(l, 1, l[0]) },
			"line 2: flcollect: the audit log is broken: it says that it is line 1"},
		"beheaded": {func(l []string) []string { return l[1:] }, "line 1: flcollect: the audit log is broken: it says that it is line 2"},
		"respaced": {func(l []string) []string { l[0] += " "; return l }, "line 2: flcollect: the audit log is broken: it follows"},
		"nonsense": {func(l []string) []string { l[3] = "{"; return l }, "line 4: flcollect: the audit log is broken: it cannot be read"},
		"of two jobs": {func(l []string) []string { return append(l[:1], forged(t, l[0], l[1])) },
			"line 2: flcollect: the audit log is broken: it is of another job"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := report.VerifyAudit(joined(c.touch(slices.Clone(lines))))
			require.ErrorIs(t, err, report.ErrAudit)
			require.ErrorContains(t, err, "verify audit log: "+c.says)
		})
	}
	whole := joined(lines)
	text := make([]byte, whole.Len()-1)
	_, err := whole.Read(text)
	require.NoError(t, err)
	_, err = report.VerifyAudit(bytes.NewReader(text))
	require.ErrorContains(t, err, "line 5: flcollect: the audit log is broken: it does not end")
	last, err := report.VerifyAudit(joined(lines[:3]))
	require.NoError(t, err, "what is missing at the end shows to who knows more")
	rounds, err := w.Rounds(t.Context(), "job", 2, 1)
	require.NoError(t, err)
	require.Equal(t, *rounds[0].Audit, last)
}

// forged puts a line of another job behind one.
func forged(t *testing.T, before, line string) string {
	t.Helper()
	forged := readLine(t, line)
	forged.Job = "other"
	text, err := json.Marshal(forged)
	require.NoError(t, err)
	return string(text)
}

func TestServer_Audit_neverReplacesALine(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Park: time.Hour})
	slow, gate := gated(1, 1)
	w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	gate <- struct{}{}
	w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	docs, err := w.documents.List(t.Context(), "audit/", "", 0)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	next := strings.TrimSuffix(docs[0].Key, "1") + "2"
	_, err = w.documents.Create(t.Context(), next, []byte(`{"line":2}`))
	require.NoError(t, err)
	gate <- struct{}{}
	status := w.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "store what became of the updates of round 2")
	require.Equal(t, 1, status.Round)
	doc, err := w.documents.Get(t.Context(), next)
	require.NoError(t, err)
	require.Equal(t, `{"line":2}`, string(doc.Data))
}

func TestServer_Audit_verificationShowsALogThatWasCutOff(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Park: time.Hour})
	slow, gate := gated(1, 1)
	_, leave := w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(10, 1), 1, 1)))
	gate <- struct{}{}
	gate <- struct{}{}
	w.until(t, "job", "at round 2", func(s flcollect.Status) bool { return s.Round == 2 })
	leave()
	w.end()
	docs, err := w.documents.List(t.Context(), "audit/", "", 0)
	require.NoError(t, err)
	for _, doc := range docs[1:] {
		require.NoError(t, w.documents.Delete(t.Context(), doc.Key, doc.Revision))
	}
	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs})
	again.join(t, trainer{step: 1, examples: 1})
	again.untilState(t, "job", report.Finished)
	_, err = report.VerifyAudit(joined(again.auditLog(t, "job")))
	require.ErrorIs(t, err, report.ErrAudit)
	require.ErrorContains(t, err, "line 2:")
}

func TestServer_Report_worksWithoutAnAuditLog(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, NoAudit: true})
	_, leave := w.join(t, trainer{step: 1, examples: 3})
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	w.untilState(t, "job", report.Finished)
	leave()
	require.Empty(t, w.auditLog(t, "job"))
	found, err := w.Report(t.Context(), "job", 2, 0, 0)
	require.NoError(t, err)
	require.Len(t, found.Clients, 1)
	require.EqualValues(t, 3, found.Clients[0].Examples)
	require.Empty(t, found.Clients[0].Update)
	require.Nil(t, found.Audit)

	w.join(t, trainer{step: 1, examples: 3})
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.until(t, "job", "finished again", func(s flcollect.Status) bool { return s.Run == 2 && s.State == report.Finished })
	require.Eventually(t, func() bool {
		docs, err := w.documents.List(t.Context(), "report/", "", 0)
		return err == nil && len(docs) == 1
	}, patience, time.Millisecond, "those of the run before are gone")
}

func FuzzVerifyAudit(f *testing.F) {
	f.Add([]byte(`{"line":1,"previous":"","part":1,"parts":1}` + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		last, err := report.VerifyAudit(bytes.NewReader(log))
		if err != nil {
			require.ErrorIs(t, err, report.ErrAudit)
			return
		}
		require.EqualValues(t, bytes.Count(log, []byte("\n")), last.Line)
	})
}

func ExampleVerifyAudit() {
	log := `{"line":1,"previous":"","job":"7","part":1,"parts":1}
{"line":3,"previous":"?","job":"7","part":1,"parts":1}
`
	last, err := report.VerifyAudit(strings.NewReader(log))
	fmt.Println(last.Line, err)
	// Output: 1 verify audit log: line 2: flcollect: the audit log is broken: it says that it is line 3
}

func TestServer_Audit_digestsEncryptedUpdatesAsSent(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", sealed(2, 2)))
	first, second := message(t, "none-first"), message(t, "none-second")
	w.join(t, keeper{message: first, examples: 5})
	w.join(t, keeper{message: second, examples: 7})
	w.untilState(t, "job", report.Finished)
	lines := w.auditLog(t, "job")
	require.Len(t, lines, 2)
	begin, end := readLine(t, lines[0]), readLine(t, lines[1])
	require.ElementsMatch(t, []string{encrypted(first).Digest(), encrypted(second).Digest()},
		[]string{begin.Clients[0].Update, begin.Clients[1].Update})
	require.Equal(t, begin.Result, end.Model)
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, flower.FromBytes(ckks.Type, result.Weights...).Digest(), end.Result)
	for _, c := range end.Clients {
		require.Equal(t, report.Kept, c.Outcome)
		require.Nil(t, c.Norm, "it cannot be measured")
	}
}
