//go:build linux

// Command guest is the first process of the virtual machine: it mounts what
// programs expect, loads the kernel's modules, and then starts and ends
// processes as the test on the host asks. It powers the machine off when the host
// asks for that, is gone, or says nothing that can be read.
//
// As "guest dial HOST:PORT" it joins its standard input and output to a
// TCP connection, which is how the host reaches servers in the guest.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/test/multilink/vm/wire"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "dial" {
		if err := dial(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest is the first process of a virtual machine, or: guest dial HOST:PORT")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Println("guest:", err) // on the console, which the test shows
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest: power off:", err)
	}
	select {} // the end of the first process would be a panic of the kernel
}

func run() error {
	if err := os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"); err != nil {
		return err
	}
	if err := mount(); err != nil {
		return err
	}
	if err := loadModules("/modules/order"); err != nil {
		return err
	}
	port, err := openPort(wire.Port)
	if err != nil {
		return err
	}
	defer port.Close()
	uptime, err := uptime()
	if err != nil {
		return err
	}
	return newServer(port).serve(wire.Ready{Uptime: uptime})
}

// dial joins standard input and output to a connection, and ends when the
// other end closes it.
func dial(address string) error {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		if _, err := io.Copy(conn, os.Stdin); err == nil {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	_, err = io.Copy(os.Stdout, conn)
	if errors.Is(err, syscall.ECONNRESET) {
		return nil // the other end was ended
	}
	return err
}
