package tus

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/iotenablers/enablers/storage"
)

// Publisher makes the bytes of a complete upload the content that they are for.
type Publisher interface {
	// Publish stores the content. After a final error the same upload would be
	// refused again. An upload that was published before succeeds.
	Publish(ctx context.Context, u Upload, content io.Reader) (result Result, final bool, err error)
}

// publish publishes the content: the pieces in the document and the last ones, which
// the document does not have yet. After an error that is not final the upload stays
// at its offset, and the last piece can be sent again.
func (s *Uploads) publish(ctx context.Context, u Upload, last []piece) (Upload, error) {
	ctx = context.WithoutCancel(ctx) // publishing may take longer than clients and proxies wait
	pieces := slices.Concat(u.Pieces, last)
	content := &pieceReader{ctx: ctx, blobs: s.Blobs, upload: &u, pieces: pieces}
	result, final, err := s.Publisher.Publish(ctx, u, content)
	content.close()
	if content.failure != nil {
		// Another process may have published the same, and deleted the pieces.
		if now, err := s.Get(ctx, u.ID); err == nil && now.Result != nil {
			s.removePieces(ctx, &u, last)
			return now, nil
		}
		final, err = errors.Is(content.failure, storage.ErrDamaged), content.failure
	}
	if err != nil {
		if final && s.Documents.Delete(ctx, uploadPrefix+u.ID, u.revision) == nil {
			s.removePieces(ctx, &u, u.Pieces)
		}
		s.removePieces(ctx, &u, last)
		return u, err
	}
	done := u
	done.Pieces, done.Offset, done.Result, done.Expires = nil, u.Length, &result, s.expiry()
	// If the update fails, the version still has the upload's identifier.
	if _, err := s.update(ctx, done); err == nil {
		s.removePieces(ctx, &u, pieces)
	} else {
		s.removePieces(ctx, &u, last)
	}
	return done, nil
}

// pieceReader reads pieces one after the other.
type pieceReader struct {
	ctx     context.Context
	blobs   storage.Blobs
	upload  *Upload
	pieces  []piece
	reader  storage.BlobReader // of the first piece; nil before it is opened
	failure error
}

// Read implements [io.Reader].
func (r *pieceReader) Read(data []byte) (int, error) {
	for r.failure == nil && len(r.pieces) > 0 {
		if r.reader == nil {
			piece, err := r.blobs.Open(r.ctx, r.upload.blob(r.pieces[0]))
			if err != nil {
				r.failure = err
				break
			}
			r.reader = storage.Checked(piece, "", nil)
		}
		n, err := r.reader.Read(data)
		if err == nil {
			return n, nil
		}
		if err != io.EOF {
			r.failure = err
			return n, err
		}
		r.close()
		r.pieces = r.pieces[1:]
		if n > 0 {
			return n, nil
		}
	}
	if r.failure != nil {
		return 0, r.failure
	}
	return 0, io.EOF
}

func (r *pieceReader) close() {
	if r.reader != nil {
		_ = r.reader.Close() // it was read to its end, or is not needed
		r.reader = nil
	}
}
