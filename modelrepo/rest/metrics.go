package rest

import (
	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
)

// repositoryMetrics are the metrics of the store and of the handler.
type repositoryMetrics struct {
	modelrepo.Stats

	Downloads       uint64 `metric:"downloads_total" help:"Downloads that were answered."`
	DownloadedBytes uint64 `metric:"downloaded_bytes_total" help:"Bytes of content that went out."`

	Damaged uint64 `metric:"damaged_downloads_total" help:"Downloads that were refused or broken off because the content is damaged."`
}

// metrics serves the metrics of the repository, and of the process, from a registry of its own.
func (r *rest) metrics() httpapi.HandlerFunc {
	return exposition.Handler(exposition.Collector("modelrepo_", func() repositoryMetrics {
		return repositoryMetrics{
			Stats:     r.store.Stats(),
			Downloads: r.downloads.Load(), DownloadedBytes: r.downloadedBytes.Load(), Damaged: r.damagedDownloads.Load(),
		}
	}))
}
