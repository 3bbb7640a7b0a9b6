package main

import (
	"testing"

	"github.com/iotenablers/enablers/cmd/internal/backup/backuptest"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

func TestRun_isBackedUpBesideItself(t *testing.T) {
	backuptest.Command(t, datafolder.Annotator, func(dir string) (stop func() error) { return start(t, dir).stop })
}

func TestRun_hasNothingToBackUpWithoutAFolder(t *testing.T) {
	backuptest.None(t, func(dir string) (stop func() error) { return start(t, dir, "-standalone-mode").stop })
}
