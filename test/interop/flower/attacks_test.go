package flower_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// attackCases are trainings in which one of eight clients lies in every round.
func attackCases() []uneven {
	var cases []uneven
	for _, attack := range []string{"scaled", "flipped", "noise", "hidden", "counter", "nan", "infinite"} {
		cases = append(cases, unevenCase("attack-"+attack, func(u *uneven) { u.Attack, u.Counter = attack, true }))
	}
	return cases
}

// judged counts the updates of a job or of a round that were not taken as they were, or
// lay far away.
type judged struct{ Clipped, Refused, Far, Converted int }

// suspect is a client of a report.
type suspect struct {
	Session, Outcome, Reason string
	Far                      bool
}

func TestCollector_clip_boundsAttacks(t *testing.T) {
	python, cases := install(t, oldest), attackCases()
	folder, lengths := referUneven(t, python, cases)
	c := startCollector(t, setup{arguments: []string{"-clip"}})
	startUneven(t, python, c)
	for _, u := range cases {
		c.conductUneven(folder, u, nil)
	}
	compared := compareUneven(t, python, folder)
	for _, u := range cases {
		got, honest := compared[u.Name], lengths[u.Name]
		t.Logf("%-16s leaves the model within %.3f of an honest update, and its whole numbers within %.3f", u.Name,
			got.Distance/honest.Floats, got.Moved/honest.Whole)
		require.Less(t, got.Distance, honest.Floats/2, u.Name)
		// A counter does not converge, so what the liar does not add in a round stays away.
		require.Less(t, got.Moved, honest.Whole*float64(u.Rounds)/(unevenClients-1), u.Name)
		refuses := u.Attack == "nan" || u.Attack == "infinite"
		liar := c.suspect(u)
		if refuses {
			require.Equal(t, "refused", liar.Outcome, u.Name)
			require.Contains(t, liar.Reason, "element 0 is ", u.Name)
		} else {
			require.Equal(t, "clipped", liar.Outcome, u.Name)
			require.Contains(t, liar.Reason, "the bound ", u.Name)
		}
		c.requireSaid(u, judged{Clipped: choose(refuses, 0, 1), Refused: choose(refuses, 1, 0)})
	}
}

func TestCollector_attacks_areReportedByDefault(t *testing.T) {
	takesLong(t)
	python, cases := install(t, newest), attackCases()[:4]
	folder, _ := referUneven(t, python, cases)
	c := startCollector(t, setup{})
	startUneven(t, python, c)
	for _, u := range cases {
		c.conductUneven(folder, u, nil)
		liar := c.suspect(u)
		require.Equal(t, "kept", liar.Outcome, u.Name)
		require.True(t, liar.Far, u.Name)
		require.Contains(t, liar.Reason, "it was kept as it was sent", u.Name)
		c.requireSaid(u, judged{Far: 1})
	}
}

func choose(is bool, yes, no int) int {
	if is {
		return yes
	}
	return no
}

// suspect is the only client of the first round whose update was not kept, or is far. The
// note of the round names it.
func (c *collector) suspect(u uneven) suspect {
	c.t.Helper()
	var report struct{ Clients []suspect }
	c.read("/job/rounds/"+u.Name+"/1/report", &report)
	found := slices.DeleteFunc(report.Clients, func(s suspect) bool { return s.Outcome == "kept" && !s.Far })
	require.Len(c.t, found, 1, u.Name)
	require.Contains(c.t, c.rounds(u.Name)[0].Note, strconv.Quote(found[0].Session), u.Name)
	return found[0]
}

// requireSaid checks that so many updates of a round are in the rounds, and in the same
// numbers in the status, the result, the page, the log and the metrics.
func (c *collector) requireSaid(u uneven, round judged) {
	c.t.Helper()
	var page struct {
		Rounds []struct {
			Note    string
			Updates judged
		}
	}
	c.read("/job/rounds/"+u.Name, &page)
	require.Len(c.t, page.Rounds, u.Rounds, u.Name)
	require.Equal(c.t, round, page.Rounds[0].Updates, u.Name)
	var sum judged
	for _, r := range page.Rounds {
		sum.Clipped += r.Updates.Clipped
		sum.Refused += r.Updates.Refused
		sum.Far += r.Updates.Far
		require.Contains(c.t, c.Output(), fmt.Sprintf(`clipped=%d far=%d refused=%d converted=0 note=%s`, r.Updates.Clipped, r.Updates.Far,
			r.Updates.Refused, logged(r.Note)), u.Name)
	}
	var status judged
	c.read("/job/status/"+u.Name, &status)
	require.Equal(c.t, sum, status, u.Name)
	results := c.results(u.Name, "1")
	require.Len(c.t, results, 1, u.Name)
	code, live, err := ask(http.MethodGet, c.url+"/live/"+u.Name, nil, "")
	require.NoError(c.t, err)
	require.Equal(c.t, http.StatusOK, code, string(live))
	for name, n := range map[string]int{"clipped": sum.Clipped, "refused": sum.Refused, "far": sum.Far} {
		want := any(nil)
		if n > 0 {
			want = fmt.Sprint(n)
		}
		have, there := results[0].Results[name]
		require.Equal(c.t, want != nil, there, "%s %s", u.Name, name)
		if there {
			require.Equal(c.t, want, have, "%s %s", u.Name, name)
		}
	}
	require.Contains(c.t, string(live), fmt.Sprintf("%d clipped, %d refused", sum.Clipped, sum.Refused), u.Name)
	if sum.Far > 0 {
		require.Contains(c.t, string(live), fmt.Sprintf("(%d of them far)", sum.Far), u.Name)
	}
}

// logged is a text as a line of the log has it.
func logged(text string) string {
	if !strings.ContainsAny(text, ` "=`) && text != "" {
		return text
	}
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
