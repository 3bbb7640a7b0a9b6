package modelrepo

import "sync/atomic"

// Stats are counts since the store was made, of this process alone.
type Stats struct {
	// Uploads were stored, with UploadedBytes of content.
	Uploads, UploadedBytes uint64
	// Delivered events were taken by callbacks; GivenUp events were not.
	Delivered, GivenUp uint64
	// CollectedBlobs were deleted by Collect.
	CollectedBlobs uint64
}

// counters count what Stats reports.
type counters struct {
	uploads, uploadedBytes atomic.Uint64
	collectedBlobs         atomic.Uint64
}

// Stats returns the counts.
func (s *Store) Stats() Stats {
	stats := s.contents.stats
	return Stats{
		Uploads: stats.uploads.Load(), UploadedBytes: stats.uploadedBytes.Load(),
		Delivered: s.hooks.Delivered(), GivenUp: s.hooks.GivenUp(),
		CollectedBlobs: stats.collectedBlobs.Load(),
	}
}
