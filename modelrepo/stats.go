package modelrepo

import "sync/atomic"

// Stats are counts since the store was made, of this process alone.
type Stats struct {
	// Uploads were stored, with UploadedBytes of content.
	Uploads, UploadedBytes uint64
	// Downloads were answered over HTTP, with DownloadedBytes of content.
	Downloads, DownloadedBytes uint64
	// Delivered events were taken by callbacks; GivenUp events were not.
	Delivered, GivenUp uint64
	// CollectedBlobs were deleted by Collect.
	CollectedBlobs uint64
}

// counters count what Stats reports.
type counters struct {
	uploads, uploadedBytes     atomic.Uint64
	downloads, downloadedBytes atomic.Uint64
	collectedBlobs             atomic.Uint64
	delivered, givenUp         atomic.Uint64
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	return Stats{
		Uploads: s.stats.uploads.Load(), UploadedBytes: s.stats.uploadedBytes.Load(),
		Downloads: s.stats.downloads.Load(), DownloadedBytes: s.stats.downloadedBytes.Load(),
		Delivered: s.stats.delivered.Load(), GivenUp: s.stats.givenUp.Load(),
		CollectedBlobs: s.stats.collectedBlobs.Load(),
	}
}
