package main

func Example() {
	main()
	// Output:
	// one collector: loss 0.072, accuracy 0.965
	// three levels have the same model, bit for bit: true
}
