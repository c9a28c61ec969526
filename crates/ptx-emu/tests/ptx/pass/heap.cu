// A list per thread on the device heap, freed in another order than it was made.
struct Node {
    int value;
    Node* next;
};

extern "C" __global__ void lists(int* out, int n) {
    int i = threadIdx.x;
    Node* head = nullptr;
    for (int k = 0; k < n; k++) {
        Node* node = (Node*)malloc(sizeof(Node));
        node->value = i * 100 + k;
        node->next = head;
        head = node;
    }
    int sum = 0;
    while (head) {
        Node* next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    out[i] = sum;
}

extern "C" __global__ void twice(int* out) {
    int* p = (int*)malloc(4);
    free(p);
    free(p);
    out[0] = 1;
}

extern "C" __global__ void stale(int* out) {
    int* p = (int*)malloc(4);
    *p = 3;
    free(p);
    out[0] = *p;
}

extern "C" __global__ void hungry(int* out) {
    int n = 0;
    while (malloc(1 << 20)) n++;
    out[0] = n;
}
