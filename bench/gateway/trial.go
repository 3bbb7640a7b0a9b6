package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// trial is one measurement.
type trial struct {
	Contender   string  `json:"contender"`
	Round       int     `json:"round"`
	Routes      int     `json:"routes"`
	Connections int     `json:"connections"`
	Load        float64 `json:"load"`
	Rate        float64 `json:"requestsPerSecond"`
	P99         float64 `json:"p99Milliseconds"`
	CPU         float64 `json:"cpuMicroseconds"` // of the gateway, for each request
}

// compare starts the contenders and measures them in turns.
func compare(ctx context.Context, s settings, r *record, all []contender, what setting) error {
	token, err := what.issuer.token()
	if err != nil {
		return err
	}
	var run []*running
	defer func() {
		for _, c := range run {
			c.end()
		}
	}()
	for i, c := range all {
		own := what
		own.folder = filepath.Join(what.folder, strconv.Itoa(i))
		started, err := c.start(ctx, own)
		if err != nil {
			return err
		}
		run = append(run, started)
		if err := started.examine(ctx, what.routes, token); err != nil {
			return err
		}
	}
	for round := range s.rounds + 1 { // the first warms up
		for i := range run {
			c := run[(i+round)%len(run)]
			for _, connections := range s.connections {
				length := s.length
				if round == 0 {
					length = time.Second
				}
				t, err := c.measure(ctx, what.routes, connections, length, token)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				if t.Round = round; round > 0 {
					r.Trials = append(r.Trials, t)
				}
			}
		}
	}
	return nil
}

// examine checks that a contender does what it is measured for.
func (c *running) examine(ctx context.Context, routes int, token string) error {
	for _, header := range []string{"", "Bearer " + token, "Bearer " + token[:len(token)-8] + "AAAAAAAA"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+routePath(routes/2, "17"), nil)
		if err != nil {
			return err
		}
		if header != "" {
			request.Header.Set("Authorization", header)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		good := response.StatusCode == http.StatusOK && string(body) == answer
		if c.verifies && header != "Bearer "+token {
			good = response.StatusCode == http.StatusUnauthorized
		}
		if !good {
			return fmt.Errorf("%s: %s with a header of %d bytes: %.200s", c.name, response.Status, len(header), body)
		}
	}
	return nil
}

// measure has wrk send requests over a number of connections.
func (c *running) measure(ctx context.Context, routes, connections int, length time.Duration, token string) (*trial, error) {
	t := &trial{Contender: c.name, Routes: routes, Connections: connections, Load: rig.LoadAverage()}
	before, err := processorTime(c.process.ID())
	if err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, "wrk", "-t1", "-c", strconv.Itoa(connections), "-d",
		strconv.Itoa(int(length.Seconds()))+"s", "--latency",
		"-H", "Authorization: Bearer "+token, "http://"+c.address+routePath(routes/2, "17")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w: %s", err, text)
	}
	after, err := processorTime(c.process.ID())
	if err != nil {
		return nil, err
	}
	requests, err := t.read(string(text))
	if err != nil {
		return nil, err
	}
	t.CPU = float64((after - before).Microseconds()) / requests
	return t, nil
}

var (
	rateLine  = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	countLine = regexp.MustCompile(`([0-9]+) requests in`)
	p99Line   = regexp.MustCompile(`99%\s+([0-9.]+(?:us|ms|s|m))`)
)

// read reads what wrk prints, and returns how many requests there were.
func (t *trial) read(text string) (requests float64, err error) {
	if strings.Contains(text, "Non-2xx") || strings.Contains(text, "Socket errors") {
		return 0, fmt.Errorf("some requests failed: %s", text)
	}
	rate, count, p99 := rateLine.FindStringSubmatch(text), countLine.FindStringSubmatch(text),
		p99Line.FindStringSubmatch(text)
	if rate == nil || count == nil || p99 == nil {
		return 0, fmt.Errorf("wrk says something else: %s", text)
	}
	slowest, err := time.ParseDuration(p99[1])
	if err != nil {
		return 0, err
	}
	t.P99 = float64(slowest.Microseconds()) / 1000
	t.Rate, err = strconv.ParseFloat(rate[1], 64)
	if err != nil {
		return 0, err
	}
	requests, err = strconv.ParseFloat(count[1], 64)
	if err == nil && requests == 0 {
		err = errors.New("no request was answered")
	}
	return requests, err
}

// tick is the unit of the kernel's accounts (proc(5), fields 14 and 15).
const tick = 10 * time.Millisecond

// processorTime is what a process and its children have taken, as nginx is several.
func processorTime(id int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("/proc says something else than proc(5)")
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	total := time.Duration(ticks) * tick
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", id))
	if err != nil {
		return 0, err
	}
	for _, file := range children {
		list, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for child := range strings.FieldsSeq(string(list)) {
			number, err := strconv.Atoi(child)
			if err != nil {
				return 0, err
			}
			more, err := processorTime(number)
			if err != nil {
				return 0, err
			}
			total += more
		}
	}
	return total, nil
}
