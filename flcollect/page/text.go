package page

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
)

// pageFuncs are the functions of the templates. format.js writes the same texts.
func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"escape": url.PathEscape,
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"blankJob":  func() view.Status { return view.Status{} },
		"blank":     func() report.Round { return report.Round{} },
		"reached":   func(round int) int { return max(round, 0) },
		"add":       func(a, b int) int { return a + b },
		"loss":      lossText,
		"metrics":   metricsText,
		"bytes":     func(a, b int64) string { return bytesText(a + b) },
		"seconds":   func(a, b float64) string { return secondsText(a + b) },
		"async":     asyncText,
		"staleness": stalenessText,
		"standing":  standingText,
		"remark":    remarkText,
		"epsilon":   epsilonText,
		"clients":   clientsText,
		"called":    func(c report.Client) string { return audit.Label(c.Name, c.Session) },
		"encrypted": func(mechanisms []string) bool { return slices.Contains(mechanisms, jobconfig.Homomorphic) },
	}
}

// clientsText says how many clients are connected for a job, and of how many.
func clientsText(job view.Status) string {
	if job.Needed > 0 {
		return fmt.Sprintf("%d of %d", job.Clients, job.Needed)
	}
	return strconv.Itoa(job.Clients)
}

func lossText(loss *float64) string {
	if loss == nil {
		return ""
	}
	return strconv.FormatFloat(*loss, 'g', 5, 64)
}

// epsilonText returns the privacy loss of a job.
func epsilonText(p *report.Privacy) string {
	if p == nil {
		return ""
	}
	epsilon := float64(p.Epsilon)
	text := "infinite"
	if !math.IsInf(epsilon, 1) {
		text = lossText(&epsilon)
	}
	return text + " (delta " + lossText(&p.Delta) + ")"
}

func standingText(r *report.Reputation) string {
	if r == nil {
		return ""
	}
	text := strconv.FormatFloat(r.Score, 'g', 5, 64)
	if r.Until > 0 {
		text += fmt.Sprintf(", suspended to round %d", r.Until)
	}
	return text
}

// asyncText says how a job without rounds trains.
func asyncText(a *jobconfig.Async) string {
	if a == nil {
		return ""
	}
	buffer, concurrency, exponent := "min_fit_clients", "10 times the buffer", jobconfig.DefaultStaleness
	if a.Buffer > 0 {
		buffer = strconv.Itoa(a.Buffer)
	}
	if a.Concurrency > 0 {
		concurrency = strconv.Itoa(a.Concurrency)
	}
	if a.Staleness != nil {
		exponent = *a.Staleness
	}
	return fmt.Sprintf("buffer %s, concurrency %s, exponent of staleness %s", buffer, concurrency, lossText(&exponent))
}

// stalenessText says how old the updates of a version were, and nothing for a round.
func stalenessText(v *report.Version) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("staleness %s, at most %d", lossText(&v.MeanStaleness), v.MaxStaleness)
}

// remarkText says why an update was not kept, or what is notable of it.
func remarkText(c report.Client) string {
	var remarks []string
	if c.Reason != "" {
		remarks = append(remarks, c.Reason)
	}
	if len(c.Converted) > 0 {
		remarks = append(remarks, "converted: "+report.ConversionsText(c.Converted))
	}
	if c.Compressed != nil {
		remarks = append(remarks, "compressed: "+c.Compressed.Kind)
	}
	if c.Dropped > 0 {
		remarks = append(remarks, fmt.Sprintf("%d local layers dropped", c.Dropped))
	}
	if c.Staleness != nil && *c.Staleness > 0 {
		remarks = append(remarks, fmt.Sprintf("staleness %d", *c.Staleness))
	}
	return strings.Join(remarks, "; ")
}

func metricsText(metrics map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		parts = append(parts, name+" "+strconv.FormatFloat(metrics[name], 'g', 5, 64))
	}
	return strings.Join(parts, ", ")
}

func bytesText(n int64) string {
	value, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB"}
	for value >= 1000 && len(units) > 1 {
		value, units = value/1000, units[1:]
	}
	return strconv.FormatFloat(value, 'g', 3, 64) + " " + units[0]
}

func secondsText(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.1f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}
