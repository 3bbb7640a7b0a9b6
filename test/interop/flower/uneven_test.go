package flower_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// uneven is a case of testdata/uneven.py, which describes it.
type uneven struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	Rounds  int    `json:"rounds"`
	Split   string `json:"split"`
	Rate    string `json:"rate"`
	Model   string `json:"model"`
	Counter bool   `json:"counter"`
	Answers string `json:"answers"`
	Attack  string `json:"attack"`
}

// unevenClients is how many clients each of these cases has.
const unevenClients = 8

// unevenCase is the case that is even, but for some changes.
func unevenCase(name string, change func(*uneven)) uneven {
	u := uneven{Name: name, Clients: unevenClients, Rounds: 4, Split: "even", Rate: "steady", Model: "float32", Answers: "same"}
	change(&u)
	return u
}

// honestCases are trainings of honest clients whose data, rates or types differ. What
// concerns the types of messages comes first.
func honestCases() []uneven {
	return []uneven{
		unevenCase("mixed", func(u *uneven) { u.Answers, u.Counter, u.Split = "one", true, "dirichlet" }),
		unevenCase("float16", func(u *uneven) { u.Model = "float16" }),
		unevenCase("float64", func(u *uneven) { u.Answers = "float64" }),
		unevenCase("two-labels", func(u *uneven) { u.Split = "two" }),
		unevenCase("one-label", func(u *uneven) { u.Split = "one" }),
		unevenCase("dirichlet", func(u *uneven) { u.Split = "dirichlet" }),
		unevenCase("bulk", func(u *uneven) { u.Split, u.Counter = "bulk", true }),
		unevenCase("jump", func(u *uneven) { u.Rate = "jump" }),
		unevenCase("warmup", func(u *uneven) { u.Rate = "warmup" }),
	}
}

// unevenReleases are the releases of Flower whose server is compared with, and how many of
// the cases are tried: all with the oldest and the newest.
func unevenReleases() map[string]int {
	if !peertest.Required() {
		return map[string]int{oldest: len(honestCases())}
	}
	return map[string]int{oldest: len(honestCases()), "1.15.0": 1, "1.30.0": 1, newest: len(honestCases())}
}

// unevenTolerance is how far a weight may be from Flower's, relative to the greatest one.
const unevenTolerance = 1e-5

// ofHalf is how far a weight of 16 bits may be from the exact mean of every round: nowhere,
// but for the last of its ten bits.
const ofHalf = 1. / 1024

// comparedUneven is what testdata/uneven_compare.py says of a case.
type comparedUneven struct {
	Flower, Exact, Whole, Distance, Moved float64
	Types                                 []string
}

func TestCollector_unevenClients_endAsWithFlowersServer(t *testing.T) {
	takesLong(t)
	for version, count := range unevenReleases() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			python, cases := install(t, version), honestCases()[:count]
			c := startCollector(t, setup{})
			startUneven(t, python, c)
			folder, _ := referUneven(t, python, cases)
			for _, u := range cases {
				c.conductUneven(folder, u, nil)
			}
			compared := compareUneven(t, python, folder)
			for _, u := range cases {
				got := compared[u.Name]
				t.Logf("%-12s is %.1e from Flower and %.1e from the exact mean, its whole numbers %v", u.Name, got.Flower, got.Exact,
					got.Whole)
				if u.Model == "float16" { // Flower adds and divides in 16 bits
					require.LessOrEqual(t, got.Exact, ofHalf, u.Name)
				} else {
					require.LessOrEqual(t, got.Flower, unevenTolerance, u.Name)
					require.LessOrEqual(t, got.Exact, unevenTolerance, u.Name)
				}
				types := []string{u.Model, u.Model}
				if u.Counter {
					types = append(types, "int64", "int64")
				}
				require.Equal(t, types, got.Types, u.Name)
				require.LessOrEqual(t, got.Whole, 1., u.Name)
				c.requireHonest(u)
			}
		})
	}
}

// startUneven starts the clients of all cases.
func startUneven(t *testing.T, python string, c *collector) {
	t.Helper()
	options, err := json.Marshal(map[string]any{"server": c.clients, "clients": unevenClients})
	require.NoError(t, err)
	interop.StartProcess(t, script(t, python, "uneven_clients.py", string(options)))
}

// referUneven has Flower's server conduct the honest cases. It returns the folder with all
// weights, and the lengths of honest updates: floats and whole numbers, by case.
func referUneven(t *testing.T, python string, cases []uneven) (folder string, lengths map[string]struct{ Floats, Whole float64 }) {
	t.Helper()
	folder = t.TempDir()
	text, err := json.Marshal(cases)
	require.NoError(t, err)
	save(t, folder, "cases.json", text)
	run(t, python, "uneven_reference.py", folder)
	text, err = os.ReadFile(filepath.Join(folder, "lengths.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &lengths))
	return folder, lengths
}

// conductUneven conducts a case, and keeps the result beside Flower's.
func (c *collector) conductUneven(folder string, u uneven, conf map[string]any) {
	c.t.Helper()
	initial, err := os.ReadFile(filepath.Join(folder, u.Name+"-initial.npz"))
	require.NoError(c.t, err)
	c.putModel(u.Name, "1", initial)
	config := training("avg", u.Rounds, u.Clients, conf)
	config["strategy_conf"].(map[string]any)["fraction_evaluate"] = 0
	config["model_name"] = u.Name
	config["client_conf"] = []any{map[string]any{"epochs": 1, "name": u.Name, "clients": u.Clients, "split": u.Split,
		"rate": u.Rate, "model": u.Model, "counter": u.Counter, "answers": u.Answers, "attack": u.Attack}}
	c.start(u.Name, config)
	c.awaitResult(u.Name)
	save(c.t, folder, u.Name+".npz", c.get("/job/result/"+u.Name))
}

func compareUneven(t *testing.T, python, folder string) (compared map[string]comparedUneven) {
	t.Helper()
	require.NoError(t, json.Unmarshal(run(t, python, "uneven_compare.py", folder), &compared))
	return compared
}

// requireHonest checks that all updates of a case took part as they were, but for the
// types of their numbers, and that what was converted is in status, rounds and result.
func (c *collector) requireHonest(u uneven) {
	c.t.Helper()
	converted := map[string]int{"same": 0, "one": u.Rounds, "float64": u.Rounds * u.Clients}[u.Answers]
	var status struct {
		Clipped, Refused, Far, Converted int
		Quarantined, Suspended           []any
		Updates                          struct{ Kept, Converted int }
	}
	c.read("/job/status/"+u.Name, &status)
	require.Empty(c.t, status.Quarantined, u.Name)
	require.Empty(c.t, status.Suspended, u.Name)
	require.Zero(c.t, status.Clipped+status.Refused, u.Name)
	require.Equal(c.t, u.Rounds*u.Clients, status.Updates.Kept, u.Name)
	require.Equal(c.t, converted, status.Converted, u.Name)
	require.Equal(c.t, converted, status.Updates.Converted, u.Name)
	for _, r := range c.rounds(u.Name) {
		require.True(c.t, r.Aggregated, u.Name)
		require.Equal(c.t, phase{u.Clients, u.Clients, 0}, r.Fit, u.Name)
		if converted > 0 {
			require.Contains(c.t, r.Note, "converted: float64 to float32 in ", u.Name)
		}
	}
	results := c.results(u.Name, "1")
	require.Len(c.t, results, 1, u.Name)
	if converted > 0 {
		require.Equal(c.t, strconv.Itoa(converted), results[0].Results["converted"], u.Name)
	} else {
		require.NotContains(c.t, results[0].Results, "converted", u.Name)
	}
}
