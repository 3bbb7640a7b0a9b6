// Command archive packs a folder into a .tar.gz file.
//
//	archive -out FILE -epoch SECONDS DIR
//
// The names in the archive begin with that of the folder. The same files and arguments give the
// same bytes: owners are root, and of the modes only the right to execute counts.
package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	flags := flag.NewFlagSet("archive", flag.ContinueOnError)
	name := flags.String("out", "", "`file` to write")
	epoch := flags.Int64("epoch", 0, "`seconds` since 1970 of everything in the archive")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *name == "" || flags.NArg() != 1 {
		return errors.New("-out and one folder are required")
	}
	// The file gets its name when it is complete.
	out, err := os.CreateTemp(filepath.Dir(*name), ".archive-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it is there only after an error
	if err := errors.Join(pack(out, flags.Arg(0), time.Unix(*epoch, 0)), out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), *name)
}

// pack writes the archive of a folder.
func pack(to io.Writer, folder string, created time.Time) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return add(w, file, path.Join(filepath.Base(folder), filepath.ToSlash(inside)), entry, created)
	})
	return errors.Join(err, w.Close(), packed.Close())
}

// add adds a file or a folder.
func add(w *tar.Writer, file, name string, entry fs.DirEntry, created time.Time) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size(), ModTime: created}
	switch {
	case info.IsDir():
		header.Typeflag, header.Name, header.Mode, header.Size = tar.TypeDir, name+"/", 0o755, 0
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is %s; only files and folders are packed", file, info.Mode().Type())
	case info.Mode()&0o111 != 0:
		header.Mode = 0o755
	}
	if err := w.WriteHeader(header); err != nil || info.IsDir() {
		return err
	}
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return errors.Join(err, content.Close())
}
