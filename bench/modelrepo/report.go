package main

import (
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// markdown is RESULTS.md.
func (r *record) markdown() string {
	var b strings.Builder
	b.WriteString(r.Markdown("The model repository beside a registry and MinIO"))
	b.WriteString("- Client and server share the cores and loopback. Contenders take turns, each time as a new process " +
		"over an empty folder; medians of the rounds, lowest to highest in brackets. MB are of 10^6 bytes.\n")
	fmt.Fprintf(&b, "- Load average of the machine before the trials, which others used as well: %s.\n", r.loads())
	for _, how := range r.Hows {
		fmt.Fprintf(&b, "- %s\n", how)
	}
	r.largeTables(&b)
	r.smallTable(&b)
	r.pagesTable(&b)
	b.WriteString(rig.NotMeasured(r.Problems))
	return b.String()
}

func (r *record) loads() string {
	var loads []float64
	for _, t := range r.Large {
		loads = append(loads, t.Load)
	}
	for _, t := range r.Small {
		loads = append(loads, t.Load)
	}
	return rig.Loads(loads)
}

// collect picks numbers from the trials of a contender.
func collect[T any](trials []T, of func(T) bool, pick func(T) []float64) []float64 {
	var all []float64
	for _, t := range trials {
		if of(t) {
			all = append(all, pick(t)...)
		}
	}
	return all
}

func (r *record) largeTables(b *strings.Builder) {
	if len(r.Large) == 0 {
		return
	}
	pick := func(name string, of func(*largeTrial) []float64) []float64 {
		return collect(r.Large, func(t *largeTrial) bool { return t.Contender == name }, of)
	}
	upload := func(t *largeTrial) []float64 { return []float64{t.Upload} }
	download := func(t *largeTrial) []float64 { return t.Download }
	best := rig.Median(pick("registry", download))
	fmt.Fprintf(b, "\n## %d MB\n\n| | upload, MB/s | of one core's MD5, in the same trial | server's CPU, s | "+
		"peak memory, MB | download, MB/s | of the registry's | server's CPU, s | sent by sendfile or splice |\n"+
		"|---|---:|---:|---:|---:|---:|---:|---:|---:|\n", r.Large[0].Bytes/1e6)
	for _, name := range names(r.Large, func(t *largeTrial) string { return t.Contender }) {
		share := pick(name, func(t *largeTrial) []float64 { return []float64{100 * t.Upload / t.MD5} })
		peak := pick(name, func(t *largeTrial) []float64 { return []float64{float64(t.Peak) / 1e6} })
		by := "not looked at"
		for _, t := range r.Large {
			if t.Contender == name && t.Sendfile >= 0 {
				by = fmt.Sprintf("%.0f %%", 100*t.Sendfile)
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s %% | %.2f | %s | %s | %.0f %% | %.2f | %s |\n",
			name, rig.Spread(pick(name, upload)), rig.Spread(share),
			rig.Median(pick(name, func(t *largeTrial) []float64 { return []float64{t.UploadCPU} })),
			rig.Spread(peak), rig.Spread(pick(name, download)),
			100*rig.Median(pick(name, download))/best,
			rig.Median(pick(name, func(t *largeTrial) []float64 { return []float64{t.DownCPU} })), by)
	}
	all := func(*largeTrial) bool { return true }
	fmt.Fprintf(b, "\nOne core makes MD5 at %s MB/s and SHA-256 at %s MB/s, measured before each upload with the same bytes.\n",
		rig.Spread(collect(r.Large, all, func(t *largeTrial) []float64 { return []float64{t.MD5} })),
		rig.Spread(collect(r.Large, all, func(t *largeTrial) []float64 { return []float64{t.SHA256} })))
	if h := r.Huge; h != nil {
		fmt.Fprintf(b, "\n%d bytes from a generator into modelrepo: %.0f MB/s, peak memory %.1f MB; read back "+
			"with the same SHA-256, its last byte as a range, and 416 for the byte behind it.\n",
			h.Bytes, h.Upload, float64(h.Peak)/1e6)
	}
}

func (r *record) smallTable(b *strings.Builder) {
	if len(r.Small) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %d uploads of 4 KiB over %d connections\n\n"+
		"| | uploads/s | server's CPU, µs each | p50, ms | p99, ms | peak memory, MB |\n"+
		"|---|---:|---:|---:|---:|---:|\n", r.Small[0].Uploads, connections)
	for _, name := range names(r.Small, func(t *smallTrial) string { return t.Contender }) {
		pick := func(of func(*smallTrial) float64) []float64 {
			mine := func(t *smallTrial) bool { return t.Contender == name }
			return collect(r.Small, mine, func(t *smallTrial) []float64 { return []float64{of(t)} })
		}
		fmt.Fprintf(b, "| %s | %s | %.0f | %.1f | %.1f | %.0f |\n", name,
			rig.Spread(pick(func(t *smallTrial) float64 { return float64(t.Uploads) / t.Seconds })),
			rig.Median(pick(func(t *smallTrial) float64 { return t.CPU })),
			rig.Median(pick(func(t *smallTrial) float64 { return t.Median })),
			rig.Median(pick(func(t *smallTrial) float64 { return t.Slowest })),
			rig.Median(pick(func(t *smallTrial) float64 { return float64(t.Peak) / 1e6 })))
	}
	b.WriteString("\nEach upload is of other bytes, to modelrepo each into a version of its own, which was created " +
		"before; the registry takes two requests each.\n")
}

func (r *record) pagesTable(b *strings.Builder) {
	for _, t := range r.Pages {
		fmt.Fprintf(b, "\n## Pages of %d models\n\n%d models a page, %d requests for each page, in turns. The models were "+
			"created at %.0f/s; peak memory of the server %.0f MB.\n\n"+
			"| page | p50, ms | p99, ms | first request, ms |\n|---:|---:|---:|---:|\n",
			t.Models, pageSize, pageRequests, t.Created, float64(t.Peak)/1e6)
		for _, p := range t.Pages {
			fmt.Fprintf(b, "| %d | %.2f | %.2f | %.2f |\n", p.Page, p.Median, p.Slowest, p.First)
		}
	}
}
