// nlohmann/json's: where its larger files would be. No test that we run reads them.
#define TEST_DATA_DIRECTORY "."
