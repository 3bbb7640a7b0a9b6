package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/bench/rml/workload"
)

// job is one run of one engine, in the folder of its case.
type job struct {
	c       workload.Case
	dir     string
	output  string  // absolute
	warmUp  float64 // seconds
	seconds float64
}

// call is a command line. Standard output goes to output if stdout is set.
type call struct {
	args   []string
	stdout bool
}

// engine is one of the programs compared.
type engine struct {
	name, version string
	how           string // it is used how
	// warmUp is how long messages are mapped before it counts: until the rate
	// rises no more, or little.
	warmUp time.Duration
	// install fetches the engine into a folder; nil if it is there.
	install func(i installer) error
	batch   func(dir string, j job) (call, error)
	message func(dir string, j job) call // nil for the reason in noMessage

	noMessage string
}

// engines returns our engine and, behind it, the peers.
func engines(self, ours string) []engine {
	return []engine{
		{
			name: "enablers", version: "this commit", warmUp: time.Second / 2,
			how: "batches: `rml map -format ntriples`, to standard output. Messages: `Mapper.Append` of the Go " +
				"API, one goroutine",
			batch: func(_ string, j job) (call, error) {
				return call{args: []string{ours, "map", "-mapping", workload.MappingFile, "-format", "ntriples"},
					stdout: true}, nil
			},
			message: func(_ string, j job) call {
				return call{args: []string{self, "message", workload.StreamFile, j.output, j.c.Sources[0].Name,
					seconds(j.warmUp), seconds(j.seconds)}}
			},
		},
		{
			name: "RocketRML", version: "2.1.2 (npm)", warmUp: 6 * time.Second,
			how: "`parseFileLive` with `toRDF` (N-Quads) and `ignoreEmptyStrings`, heap of 8 GB. It parses " +
				"the mapping at every call: there is no other public way",
			install: func(i installer) error { return i.npm("rocketrml") },
			batch: func(dir string, j job) (call, error) {
				args := append(rocket(dir), "batch", workload.MappingFile, j.output)
				for _, s := range j.c.Sources {
					args = append(args, s.Name)
				}
				return call{args: args}, nil
			},
			message: func(dir string, j job) call {
				return call{args: append(rocket(dir), "message", workload.MappingFile, j.output, j.c.Sources[0].Name,
					seconds(j.warmUp), seconds(j.seconds))}
			},
		},
		{
			name: "CARML", version: "0.4.11 (Maven Central)", warmUp: 8 * time.Second,
			how: "a mapper built once, `map()` written as N-Triples by RDF4J's `NTriplesUtil` as statements " +
				"arrive; messages: `map(InputStream)`, one after the other",
			install: func(i installer) error { return i.maven("carml", "Carml.java") },
			batch: func(dir string, j job) (call, error) {
				return call{args: append(java(dir, "Carml"), "batch", workload.MappingFile, j.output)}, nil
			},
			message: func(dir string, j job) call {
				return call{args: append(java(dir, "Carml"), "message", workload.StreamFile, j.output,
					j.c.Sources[0].Name, seconds(j.warmUp), seconds(j.seconds))}
			},
		},
		{
			name: "RMLMapper", version: "6.1.3 (Maven Central)",
			how:     "its command line, N-Quads, without duplicate elimination",
			install: func(i installer) error { return i.maven("rmlmapper", "") },
			batch: func(dir string, j job) (call, error) {
				// Without a function file it looks for some that the registry has not. This one has the fewest.
				functions := []string{"fno/functions_idlab_classes_java_mapping.ttl"}
				if j.c.Group == workload.Joins { // which it makes with a function
					functions = []string{"fno_idlab_old/functions_idlab.ttl",
						"fno_idlab_old/functions_idlab_classes_java_mapping.ttl"}
				}
				args := append(java(dir, "be.ugent.rml.cli.Main"), "-m", workload.MappingFile, "-o", j.output, "-s",
					"nquads", "-f")
				return call{args: append(args, functions...)}, nil
			},
			noMessage: "maps files only",
		},
		{
			name: "Morph-KGC", version: "2.10.0 (PyPI)",
			how:       "its command line, N-Triples, a process a core, the default partitioning of mappings",
			install:   func(i installer) error { return i.pip("morphkgc") },
			batch:     morph,
			noMessage: "maps files only",
		},
	}
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

func rocket(dir string) []string {
	return []string{"node", "--max-old-space-size=8192", filepath.Join(dir, "rocket.js")}
}

func java(dir, class string) []string {
	return []string{"java", "-cp", filepath.Join(dir, "lib", "*") + string(os.PathListSeparator) + dir, class}
}

func morph(dir string, j job) (call, error) {
	config := fmt.Sprintf("[CONFIGURATION]\noutput_file=%s\noutput_format=N-TRIPLES\nlogging_level=ERROR\n"+
		"number_of_processes=%d\n[DataSource]\nmappings=%s\n", j.output, runtime.NumCPU(), workload.MappingFile)
	if err := os.WriteFile(filepath.Join(j.dir, "morph.ini"), []byte(config), 0o600); err != nil {
		return call{}, err
	}
	return call{args: []string{filepath.Join(dir, "venv", "bin", "python"), "-m", "morph_kgc", "morph.ini"}}, nil
}

// mapMessage maps a message again and again as the programs of the peers do:
// MAPPING OUTPUT MESSAGE WARMUP SECONDS.
func mapMessage(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("message: expected 5 arguments, got %d", len(args))
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	message, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	mapping, err := rml.Load(src, nil)
	if err != nil {
		return err
	}
	plan, err := rml.Compile(mapping, &rml.Options{Format: rdf.NTriples})
	if err != nil {
		return err
	}
	mapper := plan.NewMapper()
	var out []byte
	var n int
	var elapsed time.Duration
	for _, seconds := range args[3:] {
		limit, err := time.ParseDuration(seconds + "s")
		if err != nil {
			return err
		}
		start := time.Now()
		// The clock is not read for every message: on a virtual machine that
		// can take as long as mapping one.
		for n = 0; ; n++ {
			if n%64 == 0 {
				if elapsed = time.Since(start); elapsed >= limit {
					break
				}
			}
			if out, err = mapper.Append(out[:0], message); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d %.6f\n", n, elapsed.Seconds())
	return os.WriteFile(args[1], out, 0o600)
}
