package modelrepo

// SetPieceBytes makes pieces of resumable uploads durable after that many bytes.
func SetPieceBytes(s *Store, bytes int64) { s.uploads.stored.PieceBytes = bytes }
