package rig_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

type record struct {
	Machine rig.Machine `json:"machine"`
	Trials  []int       `json:"trials"`
}

func TestRead_returnsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	written := record{rig.Machine{CPU: "8086", Cores: 1, Memory: "1 MB", Kernel: "Linux 1"}, []int{3, 4}}
	require.NoError(t, rig.Write(dir, "today.json", written, "# Report\n"))
	read, from, err := rig.Read[record](filepath.Join(dir, "results", "today.json"))
	require.NoError(t, err)
	require.Equal(t, written, read)
	require.Equal(t, dir, from)
	report, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	require.Equal(t, "# Report\n", string(report))
	require.Equal(t, "8086, 1 cores, 1 MB, Linux 1", read.Machine.String())
}

func TestRead_namesAFileThatIsNotARecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, _, err := rig.Read[record](file)
	require.ErrorContains(t, err, "broken.json")
}

func TestReadAll_addsRecordsToTheFirst(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, began := range []string{"2026-01-31T10:00:00Z", "2026-01-31T11:00:00Z", "2026-02-01T00:00:00Z"} {
		require.NoError(t, rig.Write(dir, rig.FileName(began), record{Trials: []int{i}}, ""))
		files = append(files, filepath.Join(dir, "results", rig.FileName(began)))
	}
	require.Equal(t, "2026-01-31-100000.json", filepath.Base(files[0]))
	add := func(all *record, other record) error {
		if other.Trials[0] == 2 {
			return errors.New("too many")
		}
		all.Trials = append(all.Trials, other.Trials...)
		return nil
	}
	all, from, err := rig.ReadAll(files[:2], add)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, all.Trials)
	require.Equal(t, dir, from)

	_, _, err = rig.ReadAll(files, add)
	require.ErrorContains(t, err, "2026-02-01-000000.json\": too many")
	_, _, err = rig.ReadAll(nil, add)
	require.ErrorContains(t, err, "is needed")
}

func TestCommit_reportsUncommittedChanges(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	git := func(args ...string) {
		output, err := exec.CommandContext(t.Context(), "git",
			append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	git("init", "-q")
	for _, name := range []string{"one", "other"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	git("add", ".")
	git("commit", "-q", "-m", "all")
	require.NoError(t, os.WriteFile("other", []byte("change"), 0o600))
	clean := rig.Commit(t.Context(), "one")
	require.Regexp(t, `^[0-9a-f]{7,}$`, clean)
	require.Equal(t, clean+" with uncommitted changes", rig.Commit(t.Context(), "one", "other"))
}

func TestNotMeasured_hasALineForEachProblem(t *testing.T) {
	require.Empty(t, rig.NotMeasured(nil))
	require.Equal(t, "\n## Not measured\n\n- kafka: gone\n- mqtt: late\n",
		rig.NotMeasured([]string{"kafka: gone\n\tat x", "mqtt: late"}))
}

func TestSpread_printsMedianAndBounds(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	require.InDelta(t, 2, rig.Median(values), 0)
	require.InDelta(t, 3, rig.Quantile(values, 0.99), 0)
	require.InDelta(t, 4, rig.Quantile(values, 1), 0)
	require.Equal(t, []float64{4, 1, 3, 2}, values, "the order of the trials")
	require.Equal(t, "2 (1 to 4)", rig.Spread(values))
	require.Equal(t, "1.0 to 4.0, median 2.0", rig.Loads(values))
	require.Zero(t, rig.Median(nil))
	require.Empty(t, rig.Spread(nil))
	require.Equal(t, "not noted", rig.Loads(nil))
}

func TestThousands_separatesGroups(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -123456: "-123,456"} {
		require.Equal(t, want, rig.Thousands(n))
	}
}
