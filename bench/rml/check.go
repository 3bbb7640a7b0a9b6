package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// outcome describes a document of N-Triples or N-Quads as a set of statements.
type outcome struct {
	Written  int    `json:"written"`  // statements in the document
	Distinct int    `json:"distinct"` // statements in the graph
	Digest   string `json:"digest"`   // of the graph: equal graphs without blank nodes have equal digests
	Other    string `json:"other"`    // a statement that the reference has not
}

// graph is a set of statements, by their digests.
type graph map[[16]byte]struct{}

// describe reads a document. The digest is the exclusive or of the digests of
// the distinct statements, so neither order nor repetition counts. With a
// reference it also returns the first statement that the reference lacks.
func describe(r io.Reader, reference graph) (outcome, graph, error) {
	reader, err := rdf.NewReader(r, rdf.NQuads, &rdf.ReaderOptions{MaxBytes: math.MaxInt64})
	if err != nil {
		return outcome{}, nil, err
	}
	var o outcome
	var sum [16]byte
	var line []byte
	seen := graph{}
	for q, err := range reader.All() {
		if err != nil {
			return outcome{}, nil, err
		}
		o.Written++
		line = rdf.AppendTerm(line[:0], q.Subject)
		line = rdf.AppendTerm(append(line, ' '), q.Predicate)
		line = rdf.AppendTerm(append(line, ' '), q.Object)
		line = rdf.AppendTerm(append(line, ' '), q.Graph)
		full := sha256.Sum256(line)
		key := [16]byte(full[:16])
		if _, ok := seen[key]; ok {
			continue
		}
		seen[key] = struct{}{}
		for i, b := range key {
			sum[i] ^= b
		}
		if _, ok := reference[key]; reference != nil && !ok && o.Other == "" {
			o.Other = string(line)
		}
	}
	o.Distinct, o.Digest = len(seen), hex.EncodeToString(sum[:])
	return o, seen, nil
}

func describeFile(name string, reference graph) (outcome, graph, error) {
	file, err := os.Open(name)
	if err != nil {
		return outcome{}, nil, err
	}
	defer file.Close()
	return describe(bufio.NewReaderSize(file, 1<<20), reference)
}

// printCheck describes the file that its first argument names, as JSON. A
// second argument names the reference.
func printCheck(args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return fmt.Errorf("check: expected a file and perhaps a reference, got %d arguments", len(args))
	}
	var reference graph
	if len(args) == 2 {
		var err error
		if _, reference, err = describeFile(args[1], nil); err != nil {
			return err
		}
	}
	o, _, err := describeFile(args[0], reference)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

// countLines returns how many lines of a file are not empty.
func countLines(name string) (int, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines, buf, last := 0, make([]byte, 1<<16), byte('\n')
	for {
		n, err := file.Read(buf)
		for _, b := range buf[:n] {
			if b == '\n' && last != '\n' {
				lines++
			}
			last = b
		}
		if err == io.EOF {
			if last != '\n' {
				lines++
			}
			return lines, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
