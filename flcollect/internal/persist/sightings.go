package persist

import "time"

// Sightings are what looks at a store have found, such as blobs that no document names. How
// long something is there is counted by the clock of this process alone, from the first look
// that has found it: other machines may have set the times that are stored. The zero value has
// found nothing. It belongs to one goroutine.
type Sightings struct{ first map[string]time.Time }

// Look looks once with a function, which calls age with each key that it finds. That returns
// for how long each look has found it, 0 at first. A look that fails does not count.
func (s *Sightings) Look(look func(age func(key string) time.Duration) error) error {
	found := map[string]time.Time{}
	err := look(func(key string) time.Duration {
		since, known := s.first[key]
		if !known {
			since = time.Now()
		}
		found[key] = since
		return time.Since(since)
	})
	if err == nil {
		s.first = found
	}
	return err
}
