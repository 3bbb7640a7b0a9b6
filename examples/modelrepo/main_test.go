package main

func Example() {
	main()
	// Output:
	// published weather/forecast/1.0 of 15 bytes, MD5 943ba712d0f2ba78776d824f7f850d3e
	// published again: true
	// fetched text/plain
	// 0.25 0.50 0.25
}
