// Package supernode is an app of Flower's Message API, in Python, which SuperNodes train with the collector.
package supernode
