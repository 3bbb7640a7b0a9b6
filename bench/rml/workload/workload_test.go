package workload_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

func small() workload.Sizes { return workload.Sizes{Batch: 300, Axis: 200} }

// run maps a case in its folder and returns the output.
func run(t *testing.T, dir, mapping string, stdin string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, mapping))
	require.NoError(t, err)
	m, err := rml.Load(src, nil)
	require.NoError(t, err)
	plan, err := rml.Compile(m, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, plan.NewMapper().Run(t.Context(), &out, rml.LocalFiles(dir, strings.NewReader(stdin))))
	return out.String()
}

func distinct(statements string) int {
	seen := map[string]bool{}
	for line := range strings.Lines(statements) {
		seen[line] = true
	}
	return len(seen)
}

func TestCases_giveTheStatementsThatTheyAnnounce(t *testing.T) {
	for _, c := range workload.Cases(small()) {
		dir := t.TempDir()
		require.NoError(t, c.WriteTo(dir))
		require.Equal(t, c.Statements, distinct(run(t, dir, workload.MappingFile, "")), c.Name)
	}
}

func TestCases_giveTheSameAsStreamAndAsFile(t *testing.T) {
	for _, c := range workload.Cases(small()) {
		if c.Stream == "" {
			require.NotEqual(t, workload.Message, c.Group)
			continue
		}
		dir := t.TempDir()
		require.NoError(t, c.WriteTo(dir))
		message, err := os.ReadFile(filepath.Join(dir, c.Sources[0].Name))
		require.NoError(t, err)
		require.Equal(t, run(t, dir, workload.MappingFile, ""), run(t, dir, workload.StreamFile, string(message)), c.Name)
	}
}

func TestCases_holdTheSameDataInEveryFormat(t *testing.T) {
	outputs := map[string]string{}
	for _, c := range workload.Cases(small()) {
		if c.Group != workload.Batch {
			continue
		}
		dir := t.TempDir()
		require.NoError(t, c.WriteTo(dir))
		outputs[run(t, dir, workload.MappingFile, "")] += " " + c.Name
	}
	require.Len(t, outputs, 2)
	for _, cases := range outputs {
		require.Contains(t, []string{" batch-json-300 batch-csv-300 batch-xml-300", " batch-xml-200"}, cases)
	}
}

func TestCases_areReproducible(t *testing.T) {
	sum := func() string {
		dir := t.TempDir()
		hash := sha256.New()
		for _, c := range workload.Cases(small()) {
			require.NoError(t, c.WriteTo(filepath.Join(dir, c.Name)))
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			fmt.Fprintln(hash, path[len(dir):], len(content))
			hash.Write(content)
			return err
		}))
		return fmt.Sprintf("%x", hash.Sum(nil)[:8])
	}
	require.Equal(t, "624ec31620bac3c4", sum())
	require.Equal(t, sum(), sum())
}

func TestCases_jsonMessageHas185Bytes(t *testing.T) {
	for _, c := range workload.Cases(small()) {
		if c.Name != "message-json" {
			continue
		}
		var message bytes.Buffer
		require.NoError(t, c.Sources[0].Write(&message))
		require.Len(t, message.String(), 185, message.String())
		return
	}
	t.Fatal("there is no message-json")
}

func TestStream_hasTheRequestedSize(t *testing.T) {
	const size = 1 << 20
	for _, format := range []string{workload.NDJSON, workload.CSV} {
		mapping, source, rows := workload.Stream(format, size)
		var content bytes.Buffer
		require.NoError(t, source.Write(&content))
		require.InEpsilon(t, size, content.Len(), 0.05, format)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, workload.MappingFile), []byte(mapping), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, source.Name), content.Bytes(), 0o600))
		if format == workload.CSV {
			require.Equal(t, rows*workload.StreamStatements, distinct(run(t, dir, workload.MappingFile, "")))
		}
	}
}
