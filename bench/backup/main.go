// Command backup measures a backup beside a model repository that is being written, and
// checks what it restores to.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/modelrepo/client"
)

func main() { rig.Main("backup", run) }

// settings say what is measured.
type settings struct {
	rate    int           // writes per second
	models  int           // that are written
	ballast int           // MiB of content that stays
	quiet   time.Duration // how long is written without a backup
	rounds  int
}

func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.IntVar(&s.rate, "rate", 1000, "writes per second")
	flags.IntVar(&s.models, "models", 2000, "models that are written")
	flags.IntVar(&s.ballast, "ballast", 512, "MiB of further content")
	flags.DurationVar(&s.quiet, "quiet", 10*time.Second, "how long is written without a backup, before and after each")
	flags.IntVar(&s.rounds, "rounds", 3, "backups")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.models < workers {
		return fmt.Errorf("-models %d: must be at least %d, one for each worker", s.models, workers)
	}
	folder, err := os.MkdirTemp("", "backup")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, command := range []string{"modelrepo", "enablers"} {
		if _, err := rig.Build(ctx, folder, command); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %s, load %.1f, %s, commit %s\n`%s`\n\n", time.Now().UTC().Format(time.DateOnly), rig.ThisMachine(ctx),
		rig.LoadAverage(), rig.Printed(ctx, "go", "version"), rig.Commit(ctx, "storage", "cmd", "modelrepo", "bench/backup"),
		rig.Command("backup"))
	return s.measure(ctx, folder)
}

// repository is a model repository in a process of its own.
type repository struct {
	*rig.Process
	client *client.Client
}

func start(ctx context.Context, folder, data string) (*repository, error) {
	process, err := rig.Start(ctx, filepath.Join(folder, "log"), nil, filepath.Join(folder, "modelrepo"),
		"-listen", "127.0.0.1:0", "-data", data, "-log-level", "warn")
	if err != nil {
		return nil, err
	}
	address, err := process.Await(ctx, "listening on ")
	if err != nil {
		process.End()
		return nil, err
	}
	made, err := client.New(address, &client.Options{HTTP: transport()})
	if err != nil {
		process.End()
		return nil, err
	}
	return &repository{process, made}, nil
}

// measure takes the backups, restores each, and compares it with what was acknowledged.
func (s settings) measure(ctx context.Context, folder string) error {
	data := filepath.Join(folder, "data")
	r, err := start(ctx, folder, data)
	if err != nil {
		return err
	}
	defer r.End()
	l, err := newLoad(ctx, r.client, s)
	if err != nil {
		return err
	}
	fmt.Println("| round | writes per second, without and during | p50, ms | p99, ms | backup, s | MiB/s | restore, s | checked | lost |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	var slower []float64
	for round := range s.rounds {
		rig.AwaitCalm(ctx, time.Minute)
		begun := l.begin(ctx)
		quiet, err := l.during(func() error { return pause(ctx, s.quiet) })
		if err != nil {
			return err
		}
		before := l.acknowledged()
		to, again := filepath.Join(folder, fmt.Sprint("backup", round)), filepath.Join(folder, fmt.Sprint("again", round))
		var took time.Duration
		busy, err := l.during(func() (err error) {
			took, err = command(ctx, folder, "backup", data, to)
			return err
		})
		if err != nil {
			return err
		}
		_, err = l.during(func() error { return pause(ctx, s.quiet/5) })
		if err := errors.Join(err, begun()); err != nil {
			return err
		}
		restored, err := command(ctx, folder, "restore", again, to)
		if err != nil {
			return err
		}
		size, err := folderSize(to)
		if err != nil {
			return err
		}
		checked, lost, err := s.check(ctx, folder, again, l, before)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %.0f / %.0f | %.1f / %.1f | %.0f / %.0f | %.2f | %.0f | %.2f | %d | **%d** |\n", round+1, quiet.rate, busy.rate,
			quiet.at(0.5), busy.at(0.5), quiet.at(0.99), busy.at(0.99), took.Seconds(), size/took.Seconds(), restored.Seconds(), checked, lost)
		slower = append(slower, busy.rate/quiet.rate)
		if lost > 0 {
			return fmt.Errorf("round %d: %d acknowledged writes are lost", round+1, lost)
		}
		if err := errors.Join(os.RemoveAll(to), os.RemoveAll(again)); err != nil {
			return err
		}
	}
	fmt.Printf("\nDuring a backup the median of the rounds is %.2f of the writes per second.\n", rig.Median(slower))
	return nil
}

// check starts a repository on the restored folder and compares all that was written.
func (s settings) check(ctx context.Context, folder, data string, l *load, before []state) (checked, lost int, err error) {
	r, err := start(ctx, folder, data)
	if err != nil {
		return 0, 0, err
	}
	defer r.End()
	return l.compare(ctx, r.client, before)
}

// command runs a subcommand of enablers and returns how long it took.
func command(ctx context.Context, folder, name, data, place string) (time.Duration, error) {
	began := time.Now()
	output, err := exec.CommandContext(ctx, filepath.Join(folder, "enablers"), name, "-data", data, place).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("enablers %s: %w: %s", name, err, strings.TrimSpace(string(output)))
	}
	return time.Since(began), nil
}

// folderSize returns how many MiB the files of a folder have.
func folderSize(dir string) (mebibytes float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			mebibytes += float64(info.Size()) / (1 << 20)
		}
		return err
	})
	return mebibytes, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
