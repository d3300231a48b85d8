/*
 * test_model_words.c - amounts, accelerators, reasons and states.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/accel.h"
#include "model/amount.h"
#include "model/reason.h"
#include "model/state.h"

static void amounts_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {
        {"4", 40000},
        {"0.25", 2500},
        {"500m", 5000},
        {"1.5", 15000},
        {"50Gi", INT64_C(53687091200) * 10000},
        {"16384M", INT64_C(16384000000) * 10000},
        {"0.0001", 1},
        {".5", 5000},
        {"3.75Gi", INT64_C(4026531840) * 10000},
        {"0", 0},
        {"90071992547409", INT64_C(90071992547409) * 10000},
    };
    static const char *const bad[] = {"",
                                      "-1",
                                      "x",
                                      "1x",
                                      "nan",
                                      "inf",
                                      "1e99",
                                      "1.2.3",
                                      "99999999999999999999",
                                      "200000Pi",
                                      "116T",
                                      " 1",
                                      "1000000000000000000.000000001Pi",
                                      "1 ",
                                      "."};
    int64_t a;
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(amount_parse(good[i].text, &a));
        assert_int_equal(a, good[i].want);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(amount_parse(bad[i], &a));
    assert_true(amount_from_double(0.00004, &a));
    assert_int_equal(a, 0);
    assert_false(amount_from_double(NAN, &a));
    assert_false(amount_from_double(-0.5, &a));
    assert_false(amount_from_double(INFINITY, &a));
    assert_string_equal(amount_text(2500, text, sizeof text), "0.25");
    assert_string_equal(amount_text(30000, text, sizeof text), "3");
    assert_string_equal(amount_pretty("memory", INT64_C(53687091200) * 10000,
                                      text, sizeof text),
                        "50Gi");
    assert_int_equal(amount_add(AMOUNT_MAX, 1), AMOUNT_MAX);
    assert_int_equal(amount_times(AMOUNT_MAX / 2, 4), AMOUNT_MAX);
}

static void accelerators_have_one_name(void **state)
{
    (void)state;
    assert_string_equal(accel_type_canonical("nvidia-tesla-t4"), "T4");
    assert_string_equal(accel_type_canonical("Tesla-T4"), "T4");
    assert_string_equal(accel_type_canonical("NoSuch"), "NoSuch");
    assert_string_equal(accel_type_of_resource("accelerator_type:T4"), "T4");
    assert_true(accel_type_serves("A100-80G", "A100"));
    assert_true(accel_type_serves("A100", "A100"));
    assert_false(accel_type_serves("A100", "A100-80G"));
    assert_false(accel_type_serves("A10G", "A10"));
    assert_false(accel_type_serves("A100-PCIE", "A100"));
    assert_null(accel_type_of_resource("accelerator_type:"));
    assert_null(accel_type_of_resource("GPU"));
    assert_string_equal(accel_from_k8s("nvidia.com/gpu"), "GPU");
    assert_string_equal(accel_from_k8s("amd.com/gpu"), "GPU");
    assert_string_equal(accel_from_k8s("aws.amazon.com/neuroncore"),
                        "neuron_cores");
    assert_string_equal(accel_from_k8s("nvidia.com/mig-3g.20gb"),
                        "nvidia.com/mig-3g.20gb");
    assert_string_equal(accel_from_k8s("nvidia.com/gpu.shared"),
                        "nvidia.com/gpu.shared");
    assert_null(accel_from_k8s("cpu"));
    assert_true(accel_fractions("GPU"));
    assert_false(accel_fractions("TPU"));
    assert_false(accel_fractions("HPU"));
    assert_false(accel_fractions("neuron_cores"));
    assert_true(accel_is_device("NPU"));
    assert_false(accel_is_device("CPU"));
}

static void codes_read_back(void **state)
{
    (void)state;
    for (int r = 0; r < REASON_COUNT; r++)
        assert_int_equal(reason_from_code(reason_code((enum reason)r)), r);
    assert_int_equal(reason_from_code("nonsense"), REASON_COUNT);
    for (int s = 0; s < STATE_COUNT; s++)
        assert_int_equal(state_from_name(state_name((enum machine_state)s)), s);
}

static void machines_move_forward(void **state)
{
    (void)state;
    assert_true(state_may_move(STATE_INTENDED, STATE_REQUESTED));
    assert_true(state_may_move(STATE_DRAINING, STATE_READY));
    assert_true(state_may_move(STATE_STOPPING, STATE_READY)); /* it revived */
    assert_false(state_may_move(STATE_STOPPING, STATE_STARTING));
    assert_false(state_may_move(STATE_GONE, STATE_READY));
    for (int s = 0; s < STATE_GONE; s++)
        assert_true(state_may_move((enum machine_state)s, STATE_GONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_exact),
        cmocka_unit_test(accelerators_have_one_name),
        cmocka_unit_test(codes_read_back),
        cmocka_unit_test(machines_move_forward),
    };
    return cmocka_run_group_tests_name("model words", tests, NULL, NULL);
}
