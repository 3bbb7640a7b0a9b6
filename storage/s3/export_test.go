package s3

import "time"

// Advance has the store believe that so much more time has passed at the
// server. Nothing else may use the store meanwhile.
func (s *Store) Advance(by time.Duration) {
	before := s.now
	s.now = func() time.Time { return before().Add(by) }
}
