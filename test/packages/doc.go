// Package packages tries the packages that deploy/packages/build.sh builds: those of Debian are
// installed, upgraded, removed and purged by dpkg on a copy of this machine's root that is thrown away, and the
// service of the OpenWrt package runs by BusyBox with stand-ins for procd and UCI. It takes root,
// Debian and BusyBox.
package packages
