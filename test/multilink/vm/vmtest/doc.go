// Package vmtest runs tests in a virtual machine with the kernel of the
// distribution, for what the kernel of the host may lack: bonding, WireGuard, a
// simulated 802.11 radio, and a queue that delays, loses and reorders.
//
// [Boot] starts the machine and returns a [Guest], in which a test starts
// processes as it would on the host. The machine has no disk, no network and no
// distribution: its files are the programs that the test names, copied from the host
// with the libraries that they need. It ends with the test, whatever happens to
// the test, and after [Config.Limit] in any case.
//
// The machine is emulated, instruction by instruction: it needs no
// processor that can be lent to guests, and one second of the host is a second
// of the guest. It is slow, so what it shows is what happens, not when: no test
// may conclude anything from less than some hundred milliseconds.
//
// A test that needs it is skipped unless the peers are demanded (see
// [peertest.RequirePeers]). Then it fails without qemu, the kernel's package or a
// program that it names, and the kernel is fetched if it is not in the user's
// cache folder yet.
package vmtest
