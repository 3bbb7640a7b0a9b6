package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/iotenablers/enablers/internal/version"
	"github.com/iotenablers/enablers/storage/disk"
)

// maxBeside is how many bytes a file beside a store may have. These are secrets.
const maxBeside = 1 << 20

// ErrNoFolder is the error of a backup of a server that stores nothing in a folder.
var ErrNoFolder = errors.New("this server stores nothing in a data folder, so there is nothing to back up here: " +
	"back MongoDB up with mongodump, and a bucket with the tools of its server; what is in memory ends with the server")

// Config configures a [Source].
type Config struct {
	// Dir is the folder.
	Dir string
	// Owner is its owner, one of those in package datafolder.
	Owner string
	// Stores are the open stores, by the names of their folders below Dir; that of Dir
	// itself has an empty name. None, or nil ones, mean that nothing is stored in a folder.
	Stores map[string]*disk.Store
	// Logger logs backups. Nil logs nothing.
	Logger *slog.Logger
}

// Source is what is backed up. Create one with [NewSource] or [OpenStopped]. It is safe for
// concurrent use.
type Source struct {
	config Config
	log    *slog.Logger
}

// NewSource returns the source of a running server.
func NewSource(config Config) *Source {
	config.Stores = maps.Clone(config.Stores)
	maps.DeleteFunc(config.Stores, func(_ string, store *disk.Store) bool { return store == nil })
	log := config.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Source{config, log}
}

// Of returns the source of a server with one store. A nil store means that it stores
// nothing in a folder.
func Of(dir, owner string, store *disk.Store, log *slog.Logger) *Source {
	return NewSource(Config{Dir: dir, Owner: owner, Stores: map[string]*disk.Store{"": store}, Logger: log})
}

// Stream is a backup that has begun: the snapshots of all stores. The caller closes it.
type Stream struct {
	source    *Source
	snapshots map[string]*disk.Snapshot
	begun     time.Time
	files     []File
	bytes     int64
}

// Begin takes the snapshots. It returns [disk.ErrSnapshot] while another backup runs, and
// [ErrNoFolder].
func (s *Source) Begin(ctx context.Context) (_ *Stream, err error) {
	if len(s.config.Stores) == 0 {
		return nil, ErrNoFolder
	}
	b := &Stream{source: s, snapshots: map[string]*disk.Snapshot{}, begun: time.Now().UTC()}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	for _, folder := range slices.Sorted(maps.Keys(s.config.Stores)) {
		snapshot, err := s.config.Stores[folder].Snapshot(ctx)
		if err != nil {
			return nil, fmt.Errorf("back up folder %q: %w", filepath.Join(s.config.Dir, folder), err)
		}
		b.snapshots[folder] = snapshot
	}
	return b, nil
}

// Close closes the snapshots. A second Close returns nil.
func (b *Stream) Close() error {
	var errs []error
	for _, snapshot := range b.snapshots {
		errs = append(errs, snapshot.Close())
	}
	return errors.Join(errs...)
}

// Write writes the archive. It is called once.
func (b *Stream) Write(ctx context.Context, w io.Writer) error {
	archive := tar.NewWriter(w)
	folders := Folders(b.source.config.Owner)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := b.writeFolder(ctx, archive, folder, folders[folder]); err != nil {
			return fmt.Errorf("back up folder %q: %w", filepath.Join(b.source.config.Dir, folder), err)
		}
	}
	manifest, err := json.Marshal(Manifest{
		Format: Format, Owner: b.source.config.Owner, Version: version.String(), Time: b.begun, Files: b.files,
	})
	if err != nil {
		return err
	}
	if len(manifest) > MaxManifest {
		return fmt.Errorf("there are %d files, more than a manifest of %d bytes can name", len(b.files), MaxManifest)
	}
	if err := b.header(archive, ManifestName, int64(len(manifest))); err != nil {
		return err
	}
	if _, err := archive.Write(manifest); err != nil {
		return err
	}
	return archive.Close()
}

func (b *Stream) writeFolder(ctx context.Context, archive *tar.Writer, folder, owner string) error {
	snapshot := b.snapshots[folder]
	if snapshot != nil {
		for file, err := range snapshot.Files(ctx) {
			if err != nil {
				return err
			}
			if err := b.writeStored(ctx, archive, folder, file); err != nil {
				return fmt.Errorf("%s: %w", file.Name, err)
			}
		}
	}
	for _, name := range beside(folder, owner, snapshot != nil) {
		if err := b.writeBeside(archive, name); err != nil {
			return err
		}
	}
	return nil
}

// writeStored writes a file of a store, and compares its digest with the recorded one.
func (b *Stream) writeStored(ctx context.Context, archive *tar.Writer, folder string, file disk.SnapshotFile) (err error) {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	name := path.Join(folder, file.Name)
	if err := b.header(archive, name, file.Size); err != nil {
		return err
	}
	digest := sha256.New()
	const piece = 256 << 10
	// A longer file than the header says is an error of the archive, a shorter one of the
	// next header.
	n, err := io.CopyBuffer(io.MultiWriter(digest, archive), ender{ctx, content}, make([]byte, piece))
	if err != nil {
		return err
	}
	sum := hex.EncodeToString(digest.Sum(nil))
	if n != file.Size || file.SHA256 != "" && file.SHA256 != sum {
		return errors.New("its bytes are not those that were stored: the file is damaged; restore it from an older backup, " +
			"or delete what it belongs to")
	}
	b.add(name, n, sum)
	return nil
}

// writeBeside writes a file beside the stores, if there is one.
func (b *Stream) writeBeside(archive *tar.Writer, name string) error {
	data, err := readBeside(filepath.Join(b.source.config.Dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.header(archive, name, int64(len(data))); err != nil {
		return err
	}
	if _, err := archive.Write(data); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	b.add(name, int64(len(data)), hex.EncodeToString(sum[:]))
	return nil
}

func readBeside(name string) (_ []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxBeside+1))
	if err == nil && len(data) > maxBeside {
		err = fmt.Errorf("%q has more than %d bytes, so it is not the file that the server created", name, maxBeside)
	}
	return data, err
}

func (b *Stream) add(name string, size int64, sum string) {
	b.files = append(b.files, File{Name: name, Size: size, SHA256: sum})
	b.bytes += size
}

// header begins a file of the archive. All of them are for their owner alone.
func (b *Stream) header(archive *tar.Writer, name string, size int64) error {
	return archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: b.begun.Truncate(time.Second), Format: tar.FormatPAX,
	})
}

// ender reads until the context ends.
type ender struct {
	ctx  context.Context
	from io.Reader
}

func (e ender) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.from.Read(p)
}
