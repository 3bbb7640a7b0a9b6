package transfer

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage/s3"
)

// Command is a subcommand of cmd/enablers: it runs until it is done, with an error on any
// doubt.
type Command func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Commands returns the subcommands by name.
func Commands() map[string]Command {
	return map[string]Command{"backup": Backup, "restore": Restore}
}

// Completions returns the subcommands as shells complete them.
func Completions() []cli.Command {
	var dir string
	return []cli.Command{
		{Name: "backup", About: "back up a data folder", Flags: declareFlags("backup", &dir), TakesFiles: true},
		{Name: "restore", About: "restore a data folder", Flags: declareFlags("restore", &dir), TakesFiles: true},
	}
}

// About is what the help of cmd/enablers says about the subcommands.
const About = `enablers backup -data DIR TARGET backs up the data folder of any server of this
project, also of one that is running, and enablers restore -data DIR SOURCE
restores it into an empty folder; see enablers backup -h and enablers restore -h.`

const aboutBackup = `enablers backup copies the data folder of a server, with its secrets, to TARGET.
The server may be running: cmd/enablers, or any server of this project. The backup
has all that was acknowledged before it began.

usage: enablers backup -data DIR TARGET

TARGET is an empty or a new folder, or a place in S3 of the form
%s;
without KEY:SECRET the credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

`

const aboutRestore = `enablers restore checks a backup and writes it to an empty or a new data folder.

usage: enablers restore -data DIR SOURCE

SOURCE is what TARGET was: a folder, or a place in S3 of the form
%s.
It may also be the archive that a server sent over REST, a file, or - for standard
input.

`

// Backup is the command "enablers backup".
func Backup(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	dir, where, err := arguments("backup", "TARGET", fmt.Sprintf(aboutBackup, s3.URLForm), args, stdout)
	if err != nil || dir == "" {
		return err
	}
	began, progress := time.Now(), newProgress(stderr)
	m, err := takeBackup(ctx, dir, where, progress)
	if err != nil {
		return fmt.Errorf("back up %q to %s: %w", dir, shown(where), err)
	}
	_, err = fmt.Fprintf(stdout, "backed up %q (%s) to %s: %s in %s, with all that was acknowledged before %s; it holds secrets\n",
		dir, m.Owner, shown(where), progress, time.Since(began).Round(time.Millisecond), m.Time.Format(time.RFC3339))
	return err
}

func takeBackup(ctx context.Context, dir, where string, progress *progress) (m backup.Manifest, err error) {
	// A wrong target is found before the server begins.
	to, err := openTarget(ctx, dir, where)
	if err != nil {
		return m, err
	}
	err = carry(ctx, &m, func() (origin, error) { return openData(ctx, dir) }, to, progress)
	return m, err
}

// carry carries everything from an origin to a target, or nothing. The manifest is there
// before the target is finished.
func carry(ctx context.Context, m *backup.Manifest, open func() (origin, error), to target, progress *progress) error {
	from, err := open()
	if err != nil {
		return errors.Join(err, to.abort())
	}
	found, err := transfer(ctx, from, to, progress)
	*m = found.Manifest
	err = errors.Join(err, from.Close())
	if err == nil {
		err = to.finish(ctx, found.data)
	}
	if err != nil {
		return errors.Join(err, to.abort())
	}
	return nil
}

func openTarget(ctx context.Context, dir, where string) (target, error) {
	if isBucket(where) {
		to, err := openBucket(ctx, where)
		if err != nil {
			return nil, err
		}
		if err := to.checkEmpty(ctx); err != nil {
			return nil, errors.Join(err, to.Close())
		}
		return to, nil
	}
	if err := checkNoURL(where, "a folder"); err != nil {
		return nil, err
	}
	if err := checkApart(dir, where); err != nil {
		return nil, err
	}
	return newFolderTarget(filepath.Clean(where), true, nil)
}

// checkApart returns an error for a target within the data folder, also by way of
// symbolic links.
func checkApart(dir, where string) error {
	data, err := resolve(dir)
	if err != nil {
		return err
	}
	to, err := resolve(where)
	if err != nil {
		return err
	}
	if below, err := filepath.Rel(data, to); err == nil && filepath.IsLocal(below) {
		return errors.New("the target is within the data folder, and would be lost with it: give another one")
	}
	return nil
}

// resolve returns the absolute path of a folder without symbolic links. Of one that is
// missing it resolves the folder above, or the next one that exists.
func resolve(dir string) (string, error) {
	missing := ""
	above, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		found, err := filepath.EvalSymlinks(above)
		if err == nil {
			return filepath.Join(found, missing), nil
		}
		next := filepath.Dir(above)
		if !errors.Is(err, fs.ErrNotExist) || next == above {
			return "", err
		}
		above, missing = next, filepath.Join(filepath.Base(above), missing)
	}
}

// Restore is the command "enablers restore".
func Restore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	dir, where, err := arguments("restore", "SOURCE", fmt.Sprintf(aboutRestore, s3.URLForm), args, stdout)
	if err != nil || dir == "" {
		return err
	}
	began, progress := time.Now(), newProgress(stderr)
	m, err := restore(ctx, dir, where, progress)
	if err != nil {
		return fmt.Errorf("restore %s into %q: %w", shown(where), dir, err)
	}
	_, err = fmt.Fprintf(stdout, "restored %s into %q (%s): %s in %s, as of %s\n",
		shown(where), dir, m.Owner, progress, time.Since(began).Round(time.Millisecond), m.Time.Format(time.RFC3339))
	return err
}

func restore(ctx context.Context, dir, where string, progress *progress) (m backup.Manifest, err error) {
	to, err := newFolderTarget(filepath.Clean(dir), false, func(stage string) error { return checkFolders(ctx, stage, m.Owner) })
	if err != nil {
		return m, err
	}
	err = carry(ctx, &m, func() (origin, error) { return openOrigin(ctx, where) }, to, progress)
	return m, err
}

func openOrigin(ctx context.Context, where string) (origin, error) {
	if isBucket(where) {
		return openBucket(ctx, where)
	}
	if where == "-" {
		return &archive{os.Stdin, func() error { return nil }}, nil
	}
	if err := checkNoURL(where, "a folder, an archive"); err != nil {
		return nil, err
	}
	info, err := os.Stat(where)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(where)
	}
	file, err := os.Open(where)
	if err != nil {
		return nil, err
	}
	return &archive{file, file.Close}, nil
}

// arguments reads the flag data and the one argument. Without an error and a folder the
// help was asked for, and is written.
func arguments(name, what, about string, args []string, stdout io.Writer) (dir, where string, err error) {
	flags := declareFlags(name, &dir)
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, err := io.WriteString(stdout, about)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return "", "", err
	case err != nil:
	case flags.NArg() > 1:
		err = fmt.Errorf("unexpected argument %s; -data goes before %s", shown(flags.Arg(1)), what)
	case dir == "" || strings.Contains(dir, schemeEnd):
		err = errors.New("-data: give the data folder")
	case flags.NArg() == 0 || flags.Arg(0) == "":
		err = fmt.Errorf("%s: it is missing", what)
	}
	if err != nil {
		return "", "", cli.Usage(fmt.Errorf("%s: %w (see enablers %s -h)", name, err, name))
	}
	return dir, flags.Arg(0), nil
}

// declareFlags declares the flags of a subcommand.
func declareFlags(name string, dir *string) *flag.FlagSet {
	flags := flag.NewFlagSet("enablers "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned
	flags.StringVar(dir, "data", os.Getenv("ENABLERS_DATA"),
		"the data `folder` of a server; environment ENABLERS_DATA; required")
	return flags
}

// shown returns a place for output, without secrets: those of a URL that is not that of a
// bucket may be anywhere in it.
func shown(where string) string {
	if isBucket(where) {
		return bucketName(where)
	}
	if scheme, _, found := strings.Cut(where, schemeEnd); found {
		if strings.ContainsAny(scheme, ":@") {
			scheme = "…"
		}
		return scheme + schemeEnd + "…"
	}
	return fmt.Sprintf("%q", cmp.Or(where, "."))
}
