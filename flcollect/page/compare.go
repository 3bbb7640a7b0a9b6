package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/jobform"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// maxCompared is how many jobs are compared at most; as many as curves have colours.
const maxCompared = 6

// compareView is the page on which jobs are compared.
type compareView struct {
	shell.Frame
	API     string
	IDs     []string
	Jobs    []view.Status
	Results []comparedRow
	Rows    []comparedRow
	Others  []string // jobs that may be added
}

// comparedRow is a row of the table: a value of each job.
type comparedRow struct {
	Name    string
	Values  []string
	Differs bool
}

// row returns a row, which differs unless all its values are the same.
func row(name string, values []string) comparedRow {
	return comparedRow{name, values, len(slices.Compact(slices.Clone(values))) > 1}
}

// compare answers with the page of the jobs that the query names.
func (p *pages) compare(w http.ResponseWriter, r *http.Request) error {
	page := compareView{Frame: p.part.Frame(r, "Compare jobs"), API: p.api}
	for _, id := range r.URL.Query()["job"] {
		if id != "" && !slices.Contains(page.IDs, id) {
			page.IDs = append(page.IDs, id)
		}
	}
	if len(page.IDs) > maxCompared {
		detail := fmt.Sprintf("At most %d jobs can be compared; these are %d.", maxCompared, len(page.IDs))
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: detail}
	}
	configs := make([]map[string]string, len(page.IDs))
	for i, id := range page.IDs {
		status, err := view.Find(r.Context(), p.jobs, id)
		if err != nil {
			return err
		}
		job, err := view.WithMetrics(r.Context(), p.jobs, status)
		if err != nil {
			return err
		}
		page.Jobs = append(page.Jobs, job)
		if configs[i], err = flatten(status.Config); err != nil {
			return err
		}
	}
	page.Results, page.Rows = resultRows(page.Jobs), configRows(configs)
	found, _, err := p.jobs.Jobs(r.Context(), "", "", perPage)
	if err != nil {
		return err
	}
	for _, status := range found {
		if !slices.Contains(page.IDs, status.Job) {
			page.Others = append(page.Others, status.Job)
		}
	}
	return p.part.Show(w, r, http.StatusOK, "compare.html", &page)
}

// resultRows returns what jobs have reached.
func resultRows(jobs []view.Status) []comparedRow {
	all := map[string]bool{}
	for _, job := range jobs {
		for name := range job.Metrics {
			all[name] = true
		}
	}
	rows := []comparedRow{}
	add := func(name string, value func(job view.Status) string) {
		values := make([]string, len(jobs))
		for i, job := range jobs {
			values[i] = value(job)
		}
		if slices.ContainsFunc(values, func(text string) bool { return text != "" }) {
			rows = append(rows, row(name, values))
		}
	}
	add("State", func(job view.Status) string { return string(job.Status) })
	add("Rounds", func(job view.Status) string { return fmt.Sprintf("%d of %d", max(job.Round, 0), job.Rounds) })
	add("Loss", func(job view.Status) string { return lossText(job.Loss) })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		add(name, func(job view.Status) string {
			if value, ok := job.Metrics[name]; ok {
				return lossText(&value)
			}
			return ""
		})
	}
	add("Epsilon", func(job view.Status) string { return epsilonText(job.Privacy) })
	add("Time", func(job view.Status) string {
		if job.Started.IsZero() || job.Ended.IsZero() {
			return ""
		}
		return job.Ended.Sub(job.Started).Round(time.Millisecond).String()
	})
	return rows
}

// configRows returns the configurations of jobs, value by value.
func configRows(configs []map[string]string) []comparedRow {
	all := map[string]bool{}
	for _, config := range configs {
		for name := range config {
			all[name] = true
		}
	}
	var rows []comparedRow
	for _, name := range slices.SortedFunc(maps.Keys(all), compareNames) {
		values := make([]string, len(configs))
		for i, config := range configs {
			values[i] = config[name]
		}
		rows = append(rows, row(name, values))
	}
	return rows
}

// compareNames orders the values of configurations: those of the job first, and then those
// within an object.
func compareNames(a, b string) int {
	if x, y := strings.Count(a, "."), strings.Count(b, "."); min(x, y) == 0 && x != y {
		return x - y
	}
	return strings.Compare(a, b)
}

// flatten returns the values of a configuration by their paths.
func flatten(config jobconfig.Config) (map[string]string, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	values := map[string]string{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(raw, &object) == nil && object != nil:
			for name, member := range object {
				walk(path+"."+name, member)
			}
			if len(object) == 0 && strings.Count(path, ".") > 0 {
				values[path] = "defaults"
			}
		case json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0][0] == '{':
			for i, item := range list {
				walk(path+"."+strconv.Itoa(i+1), item)
			}
		case string(raw) != "[]":
			values[path] = jobform.Plain(raw)
		}
	}
	for name, raw := range whole {
		walk(name, raw)
	}
	return values, nil
}
